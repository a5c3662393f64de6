// What `holdfast ha` prints of the pair; no waiting.
#include <fmt/format.h>

#include <array>

#include "base/bytes.h"
#include "cli/document.h"
#include "cli/pair.h"
#include "cli/table.h"
#include "cli/times.h"

namespace holdfast::cli {
namespace {

using resource::Node;

std::string_view to_word(v1::PairMember member) {
  return member == v1::PAIR_MEMBER_PRIMARY  ? "primary"
         : member == v1::PAIR_MEMBER_BACKUP ? "backup"
                                            : "unknown";
}

std::string_view to_word(v1::PairState state) {
  switch (state) {
    case v1::PAIR_STATE_PRIMARY:
    case v1::PAIR_STATE_BACKUP:
      return "waiting";
    case v1::PAIR_STATE_ACTIVE:
      return "active";
    case v1::PAIR_STATE_PASSIVE:
      return "passive";
    default:
      return "unknown";
  }
}

std::string_view to_word(v1::PairMode mode) {
  switch (mode) {
    case v1::PAIR_MODE_BEST_EFFORT:
      return "best-effort";
    case v1::PAIR_MODE_SYNC:
      return "sync";
    case v1::PAIR_MODE_WITNESS:
      return "witness";
    default:
      return "unknown";
  }
}

// Foreign text on a terminal.
std::string safe_pair_text(const std::string& text) {
  const std::string shown = in_quotes(text, 512);
  return shown.substr(1, shown.size() - 2);
}

// The primary first, whoever answered.
std::array<const v1::PairHalf*, 2> halves_in_order(const v1::PairStatus& pair) {
  const bool primary = pair.self().member() == v1::PAIR_MEMBER_PRIMARY;
  return primary ? std::array{&pair.self(), &pair.peer()} : std::array{&pair.peer(), &pair.self()};
}

const v1::PairHalf* active_half(const v1::PairStatus& pair) {
  for (const v1::PairHalf* half : halves_in_order(pair)) {
    // What the other said of itself when it was last heard may be over.
    const bool heard = half == &pair.self() || half->connected();
    if (half->state() == v1::PAIR_STATE_ACTIVE && heard) return half;
  }
  return nullptr;
}

std::string heard(const v1::PairStatus& pair, const v1::PairHalf& half) {
  if (&half == &pair.self()) return "answers";
  const std::string ago = to_short_string(to_duration(half.silent()));
  return half.connected() ? ago + " ago" : fmt::format("silent for {}", ago);
}

// What a half was that is not heard any more is not what it is.
std::string half_state(const v1::PairStatus& pair, const v1::PairHalf& half) {
  const bool over =
      &half != &pair.self() && !half.connected() && half.state() != v1::PAIR_STATE_UNSPECIFIED;
  return fmt::format("{}{}", over ? "was " : "", to_word(half.state()));
}

std::string sync_text(const v1::PairStatus& pair) {
  if (pair.in_sync()) return "in sync";
  if (pair.lag() == 0) return "NOT in sync";
  return fmt::format("NOT in sync, {} {} behind", pair.lag(),
                     pair.lag() == 1 ? "revision" : "revisions");
}

std::string halves_table(const v1::PairStatus& pair, LastColumn last) {
  std::vector<Row> rows;
  for (const v1::PairHalf* half : halves_in_order(pair)) {
    rows.push_back({std::string(to_word(half->member())), half_state(pair, *half), half->name(),
                    half->address(), half->version(), std::to_string(half->epoch()),
                    std::to_string(half->head().revision()), heard(pair, *half)});
  }
  return render_table({"HALF", "STATE", "NAME", "ADDRESS", "VERSION", "EPOCH", "REVISION", "HEARD"},
                      rows, last);
}

std::string record_text(const v1::WitnessRecord& record) {
  std::string members;
  if (record.primary_in_sync()) members += "primary";
  if (record.backup_in_sync()) members += members.empty() ? "backup" : " and backup";
  return fmt::format("epoch {}, in sync {}", record.epoch(), members.empty() ? "nobody" : members);
}

std::string witness_text(const v1::PairStatus& pair) {
  if (pair.witness().empty()) return "";
  if (pair.witness_never_heard()) {
    return fmt::format("witness     {}, not heard since this half started\n",
                       safe_pair_text(pair.witness()));
  }
  return fmt::format(
      "witness     {}, heard {} ago; its record: {}\n", safe_pair_text(pair.witness()),
      to_short_string(to_duration(pair.witness_silent())), record_text(pair.record()));
}

std::string switch_text(const v1::PairStatus& pair, WallTime now) {
  if (!pair.has_last_switch()) return "last switch none since this half started\n";
  const v1::PairSwitch& last = pair.last_switch();
  const Duration took = to_duration(last.took());
  return fmt::format("last switch {} to {}, epoch {}{}: {}\n", relative(to_wall(last.at()), now),
                     safe_pair_text(last.to()), last.epoch(),
                     took == Duration::zero() ? "" : ", took " + to_short_string(took),
                     safe_pair_text(last.reason()));
}

// A half that nobody confirms as active may have been replaced already.
std::string active_text(const v1::PairStatus& pair) {
  const v1::PairHalf* active = active_half(pair);
  if (active == nullptr) return "NOBODY is active";
  return fmt::format("{} is active, epoch {}{}", safe_pair_text(active->name()), active->epoch(),
                     pair.not_serving().empty() ? "" : ", and does NOT serve");
}

std::string pair_table(const v1::PairStatus& pair, const PairText& how) {
  std::string text = fmt::format("pair        {}, mode {}, {}\n", active_text(pair),
                                 to_word(pair.mode()), sync_text(pair));
  text += halves_table(pair, how.last);
  text += witness_text(pair) + switch_text(pair, how.now);
  if (!pair.if_active_died().empty()) {
    text += fmt::format("if the active died now: {}\n", safe_pair_text(pair.if_active_died()));
  }
  for (const std::string& problem : pair.problems()) {
    text += fmt::format("problem     {}\n", safe_pair_text(problem));
  }
  if (pair.quarantined() > 0) {
    text += fmt::format("divergence  {} waiting for a decision: holdfast ha divergence\n",
                        pair.quarantined());
  }
  return text;
}

class Members {
 public:
  void text(std::string key, std::string_view value) { add(std::move(key), text_node(value)); }
  void number(std::string key, uint64_t value) {
    add(std::move(key), Node::scalar(std::to_string(value), false));
  }
  void flag(std::string key, bool value) {
    add(std::move(key), Node::scalar(value ? "true" : "false", false));
  }
  void add(std::string key, Node value) {
    node.members.push_back({.key = std::move(key), .value = std::move(value)});
  }
  Node node = Node::mapping();
};

Node half_node(const v1::PairStatus& pair, const v1::PairHalf& half) {
  Members out;
  out.text("half", to_word(half.member()));
  out.text("state", to_word(half.state()));
  out.text("name", half.name());
  out.text("address", half.address());
  out.text("version", half.version());
  out.number("epoch", half.epoch());
  out.number("revision", static_cast<uint64_t>(half.head().revision()));
  out.flag("answered", &half == &pair.self());
  out.flag("connected", &half == &pair.self() || half.connected());
  out.text("silent", to_short_string(to_duration(half.silent())));
  return out.node;
}

Node switch_node(const v1::PairSwitch& last) {
  Members out;
  out.text("at", to_rfc3339(to_wall(last.at())));
  out.text("to", last.to());
  out.number("epoch", last.epoch());
  out.text("took", to_short_string(to_duration(last.took())));
  out.text("reason", last.reason());
  return out.node;
}

Node witness_node(const v1::PairStatus& pair) {
  Members out;
  out.text("address", pair.witness());
  out.text("silent", to_short_string(to_duration(pair.witness_silent())));
  out.number("epoch", pair.record().epoch());
  out.flag("primary_in_sync", pair.record().primary_in_sync());
  out.flag("backup_in_sync", pair.record().backup_in_sync());
  return out.node;
}

Document pair_document(const v1::PairStatus& pair) {
  Document out("pair");
  out.set("paired", Node::scalar(pair.paired() ? "true" : "false", false));
  if (!pair.paired()) return out;
  out.set_text("mode", to_word(pair.mode()));
  const v1::PairHalf* active = active_half(pair);
  out.set_text("active", active == nullptr ? "" : to_word(active->member()));
  out.set_text("not_serving", pair.not_serving());
  out.set("in_sync", Node::scalar(pair.in_sync() ? "true" : "false", false));
  out.set_number("lag", pair.lag());
  Node halves = Node::sequence();
  for (const v1::PairHalf* half : halves_in_order(pair))
    halves.items.push_back(half_node(pair, *half));
  out.set("halves", std::move(halves));
  if (!pair.witness().empty()) out.set("witness", witness_node(pair));
  if (pair.has_last_switch()) out.set("last_switch", switch_node(pair.last_switch()));
  out.set_text("if_active_died", pair.if_active_died());
  Node problems = Node::sequence();
  for (const std::string& each : pair.problems()) problems.items.push_back(text_node(each));
  out.set("problems", std::move(problems));
  out.set_number("quarantined", pair.quarantined());
  return out;
}

}  // namespace

bool is_well(const v1::PairStatus& pair) {
  return !pair.paired() ||
         (active_half(pair) != nullptr && pair.problems().empty() && pair.quarantined() == 0);
}

std::string render_pair(const v1::PairStatus& pair, const PairText& how) {
  switch (how.output) {
    case Output::Json:
      return pair_document(pair).json();
    case Output::Yaml:
      return pair_document(pair).yaml();
    case Output::Name: {
      const v1::PairHalf* active = active_half(pair);
      return active == nullptr ? ""
                               : fmt::format("controller/{}\n", safe_pair_text(active->name()));
    }
    case Output::Table:
    case Output::Wide:
      break;
  }
  if (!pair.paired()) return "this controller is no half of a pair\n";
  return pair_table(pair, how);
}

std::string pair_line(const v1::PairStatus& pair) {
  if (!pair.paired()) return "";
  const v1::PairHalf* active = active_half(pair);
  std::string text =
      fmt::format("pair       {}, {} {}, mode {}, {}",
                  active == nullptr ? "nobody is active"
                                    : fmt::format("{} is active", safe_pair_text(active->name())),
                  "epoch", pair.self().epoch(), to_word(pair.mode()), sync_text(pair));
  if (!pair.not_serving().empty()) text += ", and does NOT serve";
  if (!pair.problems().empty()) {
    text += fmt::format(", {} of trouble: holdfast ha status", pair.problems_size());
  }
  if (pair.quarantined() > 0) {
    text += fmt::format(", {} waiting for a decision: holdfast ha divergence", pair.quarantined());
  }
  return text + "\n";
}

std::string promotion_risk(const v1::PairStatus& pair) {
  if (!pair.paired()) return "this controller is no half of a pair";
  const bool self = pair.self().state() == v1::PAIR_STATE_ACTIVE;
  if (self && pair.not_serving().empty()) return "this half is the active one already";
  const bool peer = pair.peer().state() == v1::PAIR_STATE_ACTIVE;
  if (pair.peer().connected() && (self || peer)) {
    return fmt::format("{} is there: `holdfast ha switchover` moves without losing anything",
                       pair.peer().name());
  }
  if (pair.self().head().epoch() == 0) {
    return fmt::format(
        "{} has nothing: it never had a copy. To promote it gives up all that the "
        "other half has",
        pair.self().name());
  }
  std::string mine = fmt::format("{} has epoch {} and revision {}", pair.self().name(),
                                 pair.self().head().epoch(), pair.self().head().revision());
  if (pair.record().epoch() != 0) {
    mine += fmt::format(" (the witness's record, as this half knows it: {})",
                        record_text(pair.record()));
  }
  if (pair.peer().connected()) {
    return fmt::format("{}, and {} has epoch {} and revision {}: promote the one with more", mine,
                       pair.peer().name(), pair.peer().head().epoch(),
                       pair.peer().head().revision());
  }
  if (pair.peer().state() == v1::PAIR_STATE_UNSPECIFIED) {
    return mine +
           ", and has not heard the other since it was started. What the other has alone is "
           "lost to clients; its whole store is set aside on its disk when it comes back";
  }
  const std::string known = fmt::format("{}, and the other was at {} when it fell silent {} ago",
                                        mine, pair.peer().head().revision(),
                                        to_short_string(to_duration(pair.peer().silent())));
  return known +
         ". What the other acknowledged since, if it lives on unseen, is lost to clients, "
         "and set aside with its whole store when it comes back";
}

}  // namespace holdfast::cli
