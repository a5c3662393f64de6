#include "ha/shipping.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/reason.h"

namespace holdfast::ha {
namespace {

using store::Revision;
using store::Tenure;

// The last revision of each tenure, up to the head. A tenure in which nothing was written has none.
struct Span {
  Epoch epoch;
  Revision first;
  Revision last;
};

std::vector<Span> spans_of(const History& history) {
  std::vector<Span> spans;
  const std::vector<Tenure>& tenures = history.tenures;
  for (size_t i = 0; i < tenures.size(); ++i) {
    const Revision end = i + 1 < tenures.size() ? tenures[i + 1].first - 1 : history.head.revision;
    const Revision last = std::min(end, history.head.revision);
    if (last >= tenures[i].first) spans.push_back({tenures[i].epoch, tenures[i].first, last});
  }
  return spans;
}

// Histories with a common tenure are one before it; those without have nothing in common.
Revision fork_of(const std::vector<Span>& mine, const std::vector<Span>& theirs) {
  for (size_t i = mine.size(); i-- > 0;) {
    for (const Span& their : theirs) {
      if (their.epoch == mine[i].epoch) return std::min(mine[i].last, their.last);
    }
  }
  return 0;
}

}  // namespace

bool contains(const History& history, const Head& point) {
  // What was written before the first tenure has no name to be known by.
  if (point.epoch == 0) return false;
  if (point.revision > history.head.revision) return false;
  if (point.revision == history.head.revision) return point == history.head;
  Epoch written_in = 0;
  for (const Tenure& tenure : history.tenures) {
    if (tenure.first <= point.revision) written_in = tenure.epoch;
  }
  return written_in == point.epoch;
}

Comparison compare(const History& mine, const History& theirs) {
  if (mine.head == Head() && theirs.head == Head()) return {Relation::Same, mine.head.revision};
  // One name for two entries: a half lost its disk and began again with the first epochs.
  const bool other_chain = mine.head.epoch == theirs.head.epoch &&
                           mine.head.revision == theirs.head.revision &&
                           mine.head.chain != theirs.head.chain;
  if (other_chain) return {Relation::Diverged, 0};
  if (contains(theirs, mine.head)) {
    const bool same = mine.head == theirs.head;
    return {same ? Relation::Same : Relation::Behind, mine.head.revision};
  }
  if (contains(mine, theirs.head)) return {Relation::Ahead, theirs.head.revision};
  const Revision fork = fork_of(spans_of(mine), spans_of(theirs));
  return {Relation::Diverged, std::max<Revision>(fork, 0)};
}

bool is_too_late(const Head& copy, Epoch epoch, const Head& mine) {
  return mine.epoch == epoch && mine.revision >= copy.revision;
}

Status may_sync(const Beat& a, const Beat& b) {
  const auto refuse = [](std::string_view code, const std::string& why) {
    return coded(absl::StatusCode::kFailedPrecondition, code, why);
  };
  if (a.facts.member == b.facts.member) {
    return refuse("HF4106", fmt::format("both halves are configured as the {}: {} and {}",
                                        to_string(a.facts.member), a.name, b.name));
  }
  if (a.mode != b.mode) {
    return refuse("HF4113", fmt::format("ha.mode is {} at {} and {} at {}", to_string(a.mode),
                                        a.name, to_string(b.mode), b.name));
  }
  if (a.schema_min > b.schema_max || b.schema_min > a.schema_max) {
    return refuse(
        "HF4112",
        fmt::format("{} ({}) reads data of schema {} to {}, {} ({}) of {} to {}", a.name, a.version,
                    a.schema_min, a.schema_max, b.name, b.version, b.schema_min, b.schema_max));
  }
  return absl::OkStatus();
}

void Shipping::restart() {
  peer_head_.reset();
  wants_copy_ = false;
  useless_copy_ = false;
  in_flight_ = 0;
  copying_ = false;
}

void Shipping::on_beat(const Beat& beat, const Beat& mine) {
  if (beat.process != process_) {
    restart();
    process_ = beat.process;
  }
  may_sync_ = may_sync(mine, beat);
  present_ = true;
}

bool Shipping::on_answer(uint64_t id, const ShipmentAnswer& answer,
                         const store::ReplicaFacts& mine) {
  if (id == 0 || id != in_flight_) return false;
  in_flight_ = 0;
  const bool was_copy = std::exchange(copying_, false);
  peer_head_ = answer.head;
  const bool fits =
      !answer.needs_copy && contains({.head = mine.head, .tenures = mine.tenures}, answer.head);
  wants_copy_ = !fits;
  useless_copy_ = was_copy && !fits;
  return fits;
}

void Shipping::on_failure(uint64_t id) {
  if (id == 0 || id != in_flight_) return;
  in_flight_ = 0;
  copying_ = false;
  peer_head_.reset();
  wants_copy_ = false;
  present_ = false;
}

Shipment Shipping::send(Shipment::Kind kind, const Head& after) {
  in_flight_ = ++last_id_;
  copying_ = kind == Shipment::Kind::Copy;
  if (copying_) copies_ += 1;
  return {.kind = kind, .id = in_flight_, .after = after};
}

Shipment Shipping::next(const store::ReplicaFacts& mine) {
  if (in_flight_ != 0 || !present_ || !may_sync_.ok() || useless_copy_) return {};
  if (!peer_head_) return send(Shipment::Kind::Ask, {});
  if (wants_copy_ || peer_head_->revision < mine.floor) return send(Shipment::Kind::Copy, {});
  if (peer_head_->revision == mine.head.revision) return {};
  return send(Shipment::Kind::Entries, *peer_head_);
}

Status Shipping::obstacle() const {
  if (!may_sync_.ok()) return may_sync_;
  if (!useless_copy_) return absl::OkStatus();
  return coded(absl::StatusCode::kDataLoss, "HF4114",
               "the other half took a whole copy, and its history still does not lead into ours");
}

}  // namespace holdfast::ha
