#include "ha/wire.h"

#include <algorithm>
#include <optional>

#include "base/reason.h"

namespace holdfast::ha {
namespace {

WallTime time_of(const google::protobuf::Timestamp& time) {
  return WallTime(std::chrono::milliseconds(time.seconds() * 1000 + time.nanos() / 1'000'000));
}

std::optional<Member> member_of(v1::PairMember member) {
  if (member == v1::PAIR_MEMBER_PRIMARY) return Member::Primary;
  if (member == v1::PAIR_MEMBER_BACKUP) return Member::Backup;
  return std::nullopt;
}

std::optional<State> state_of(v1::PairState state) {
  if (state < v1::PAIR_STATE_PRIMARY || state > v1::PAIR_STATE_PASSIVE) return std::nullopt;
  return static_cast<State>(state);
}

std::optional<Mode> mode_of(v1::PairMode mode) {
  if (mode == v1::PAIR_MODE_BEST_EFFORT) return Mode::BestEffort;
  if (mode == v1::PAIR_MODE_SYNC) return Mode::Sync;
  if (mode == v1::PAIR_MODE_WITNESS) return Mode::Witness;
  return std::nullopt;
}

uint64_t in_milliseconds(Duration duration) {
  const auto whole = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
  return static_cast<uint64_t>(std::max<int64_t>(whole, 0));
}

Duration duration_of(uint64_t milliseconds) {
  constexpr uint64_t kLongest = uint64_t{1} << 40;  // some thirty years
  return std::chrono::milliseconds(static_cast<int64_t>(std::min(milliseconds, kLongest)));
}

// For people only: one that makes no sense is left out, and the beat counts all the same.
std::optional<SwitchNews> news_of(const v1::BeatSwitch& news) {
  const std::optional<Member> to = member_of(news.to());
  if (!to || news.reason().size() > kMaxWords) return std::nullopt;
  return SwitchNews{.to = *to,
                    .reason = news.reason(),
                    .took = duration_of(news.took_ms()),
                    .epoch = news.epoch(),
                    .ago = duration_of(news.ago_ms())};
}

bool are_short(const v1::Beat& beat) {
  for (const std::string* text : {&beat.store_id(), &beat.name(), &beat.address(), &beat.version(),
                                  &beat.process(), &beat.heard_process()}) {
    if (text->size() > kMaxWords) return false;
  }
  return static_cast<size_t>(beat.tenures().size()) <= kMaxTenures;
}

}  // namespace

void set_time(WallTime time, google::protobuf::Timestamp& out) {
  const int64_t milliseconds = time.time_since_epoch().count();
  out.set_seconds(milliseconds / 1000);
  out.set_nanos(static_cast<int32_t>(milliseconds % 1000) * 1'000'000);
}

v1::PairHead to_proto(const Head& head) {
  v1::PairHead out;
  out.set_epoch(head.epoch);
  out.set_revision(head.revision);
  out.set_chain(head.chain);
  return out;
}

Head from_proto(const v1::PairHead& head) {
  return {.epoch = head.epoch(), .revision = head.revision(), .chain = head.chain()};
}

v1::WitnessRecord to_proto(const Record& record) {
  v1::WitnessRecord out;
  out.set_epoch(record.epoch);
  out.set_primary_in_sync(record.in_sync.has(Member::Primary));
  out.set_backup_in_sync(record.in_sync.has(Member::Backup));
  out.set_primary_store_id(record.store_id(Member::Primary));
  out.set_backup_store_id(record.store_id(Member::Backup));
  return out;
}

Result<Record> from_proto(const v1::WitnessRecord& record) {
  if (record.primary_store_id().size() > kMaxWords || record.backup_store_id().size() > kMaxWords) {
    return coded(absl::StatusCode::kInvalidArgument, "HF4203", "a store's id is too long");
  }
  if (record.epoch() > store::kMaxEpoch) {
    return coded(absl::StatusCode::kInvalidArgument, "HF4203", "an epoch that nobody can have");
  }
  const int bits = (record.primary_in_sync() ? 1 : 0) | (record.backup_in_sync() ? 2 : 0);
  Record out{.epoch = record.epoch(), .in_sync = Members::from_bits(static_cast<uint8_t>(bits))};
  out.store_id(Member::Primary) = record.primary_store_id();
  out.store_id(Member::Backup) = record.backup_store_id();
  return out;
}

v1::PairMember to_proto(Member member) {
  return member == Member::Primary ? v1::PAIR_MEMBER_PRIMARY : v1::PAIR_MEMBER_BACKUP;
}

v1::PairState to_proto(State state) {
  return static_cast<v1::PairState>(state);
}

v1::PairMode to_proto(Mode mode) {
  switch (mode) {
    case Mode::BestEffort:
      return v1::PAIR_MODE_BEST_EFFORT;
    case Mode::Sync:
      return v1::PAIR_MODE_SYNC;
    case Mode::Witness:
      break;
  }
  return v1::PAIR_MODE_WITNESS;
}

void add_tenures(const std::vector<store::Tenure>& tenures, size_t at_most,
                 google::protobuf::RepeatedPtrField<v1::PairTenure>& out) {
  const size_t skipped = tenures.size() > at_most ? tenures.size() - at_most : 0;
  for (size_t i = skipped; i < tenures.size(); ++i) {
    v1::PairTenure& tenure = *out.Add();
    tenure.set_epoch(tenures[i].epoch);
    tenure.set_first(tenures[i].first);
  }
}

std::vector<store::Tenure> from_proto(
    const google::protobuf::RepeatedPtrField<v1::PairTenure>& tenures) {
  std::vector<store::Tenure> out;
  for (const v1::PairTenure& tenure : tenures) out.push_back({tenure.epoch(), tenure.first()});
  return out;
}

v1::BeatSwitch to_proto(const SwitchNews& news) {
  v1::BeatSwitch out;
  out.set_to(to_proto(news.to));
  out.set_reason(news.reason.substr(0, kMaxWords));
  out.set_took_ms(in_milliseconds(news.took));
  out.set_epoch(news.epoch);
  out.set_ago_ms(in_milliseconds(news.ago));
  return out;
}

v1::Beat to_proto(const Beat& beat) {
  v1::Beat out;
  out.set_number(beat.number);
  out.set_heard(beat.heard);
  out.set_member(to_proto(beat.facts.member));
  out.set_state(to_proto(beat.facts.state));
  out.set_promised(beat.facts.promised);
  *out.mutable_head() = to_proto(beat.facts.head);
  out.set_store_id(beat.facts.store_id);
  *out.mutable_record() = to_proto(beat.facts.record);
  out.set_hands_over(beat.facts.hands_over);
  out.set_mode(to_proto(beat.mode));
  out.set_name(beat.name);
  out.set_address(beat.address);
  out.set_version(beat.version);
  out.set_schema_min(beat.schema_min);
  out.set_schema_max(beat.schema_max);
  add_tenures(beat.tenures, kMaxTenures, *out.mutable_tenures());
  out.set_floor(beat.floor);
  out.set_lease_ms(in_milliseconds(beat.lease));
  out.set_take_ms(in_milliseconds(beat.take));
  out.set_needs_copy(beat.needs_copy);
  out.set_in_sync(beat.in_sync);
  out.set_disk_fails(beat.disk_fails);
  out.set_process(beat.process);
  out.set_heard_process(beat.heard_process);
  if (beat.last_switch) *out.mutable_last_switch() = to_proto(*beat.last_switch);
  return out;
}

Result<Beat> from_proto(const v1::Beat& beat) {
  const std::optional<Member> member = member_of(beat.member());
  const std::optional<State> state = state_of(beat.state());
  const std::optional<Mode> mode = mode_of(beat.mode());
  const Epoch highest = std::max({beat.promised(), beat.hands_over(), beat.head().epoch()});
  const bool possible = highest <= store::kMaxEpoch;
  if (!member || !state || !mode || !are_short(beat) || !possible) {
    return coded(absl::StatusCode::kInvalidArgument, "HF4120",
                 "the other half sent a beat that makes no sense");
  }
  TRY(Record record, from_proto(beat.record()));
  Beat out{.number = beat.number(), .heard = beat.heard(), .process = beat.process()};
  out.heard_process = beat.heard_process();
  out.facts = {.member = *member,
               .state = *state,
               .promised = beat.promised(),
               .head = from_proto(beat.head()),
               .store_id = beat.store_id(),
               .record = std::move(record),
               .hands_over = beat.hands_over()};
  out.mode = *mode;
  out.name = beat.name();
  out.address = beat.address();
  out.version = beat.version();
  out.schema_min = beat.schema_min();
  out.schema_max = beat.schema_max();
  out.tenures = from_proto(beat.tenures());
  out.floor = beat.floor();
  out.lease = duration_of(beat.lease_ms());
  out.take = duration_of(beat.take_ms());
  out.needs_copy = beat.needs_copy();
  out.in_sync = beat.in_sync();
  out.disk_fails = beat.disk_fails();
  if (beat.has_last_switch()) out.last_switch = news_of(beat.last_switch());
  return out;
}

v1::PairEntry to_proto(const store::Entry& entry) {
  v1::PairEntry out;
  *out.mutable_head() = to_proto(entry.head);
  for (const store::Change& change : entry.changes) {
    v1::PairChange& made = *out.add_changes();
    made.set_removed(change.type == store::Change::Type::Delete);
    made.set_key(change.item.key);
    made.set_value(change.item.value);
    made.set_created_revision(change.item.created_revision);
    if (change.item.expires) set_time(*change.item.expires, *made.mutable_expires());
  }
  return out;
}

store::Entry from_proto(const v1::PairEntry& entry) {
  store::Entry out{.head = from_proto(entry.head()), .changes = {}};
  out.changes.reserve(static_cast<size_t>(entry.changes().size()));
  for (const v1::PairChange& change : entry.changes()) {
    store::Change& made = out.changes.emplace_back();
    made.type = change.removed() ? store::Change::Type::Delete : store::Change::Type::Put;
    made.item.key = change.key();
    made.item.value = change.value();
    made.item.revision = out.head.revision;
    made.item.created_revision = change.created_revision();
    if (change.has_expires()) made.item.expires = time_of(change.expires());
  }
  return out;
}

v1::PairItem to_proto(const store::Item& item) {
  v1::PairItem out;
  out.set_key(item.key);
  out.set_value(item.value);
  out.set_revision(item.revision);
  out.set_created_revision(item.created_revision);
  if (item.expires) set_time(*item.expires, *out.mutable_expires());
  return out;
}

store::Item from_proto(const v1::PairItem& item) {
  store::Item out{.key = item.key(), .value = item.value()};
  out.revision = item.revision();
  out.created_revision = item.created_revision();
  if (item.has_expires()) out.expires = time_of(item.expires());
  return out;
}

v1::ChangeRecordRequest to_proto(const RecordChange& change) {
  v1::ChangeRecordRequest out;
  out.set_expected(change.expected);
  *out.mutable_record() = to_proto(change.record);
  out.set_force(change.force);
  return out;
}

Result<RecordChange> from_proto(const v1::ChangeRecordRequest& request) {
  TRY(Record record, from_proto(request.record()));
  return RecordChange{
      .expected = request.expected(), .record = std::move(record), .force = request.force()};
}

}  // namespace holdfast::ha
