// What travels between the halves comes out as it went in, and nothing odd gets further.
#include "ha/wire.h"

#include <gtest/gtest.h>

#include "base/reason.h"

namespace holdfast::ha {
namespace {

Beat some_beat() {
  Beat beat{.number = 7, .heard = 5, .process = "mine", .heard_process = "theirs"};
  beat.facts.member = Member::Backup;
  beat.facts.state = State::Passive;
  beat.facts.promised = 4;
  beat.facts.head = {.epoch = 3, .revision = 41, .chain = 99};
  beat.facts.store_id = "b";
  beat.facts.record = {.epoch = 3, .in_sync = Members::both(), .store_ids = {"a", "b"}};
  beat.facts.hands_over = 5;
  beat.mode = Mode::Sync;
  beat.name = "ctl-b";
  beat.address = "10.0.0.2:7443";
  beat.version = "1.2";
  beat.schema_max = 2;
  beat.tenures = {{.epoch = 1, .first = 2}, {.epoch = 3, .first = 30}};
  beat.floor = 12;
  beat.needs_copy = true;
  beat.last_switch = {.to = Member::Primary,
                      .reason = "switchover",
                      .took = std::chrono::milliseconds(140),
                      .epoch = 3,
                      .ago = std::chrono::hours(50)};
  return beat;
}

TEST(PairWire, ABeatComesOutAsItWentIn) {
  const Beat sent = some_beat();
  const Result<Beat> heard = from_proto(to_proto(sent));
  ASSERT_TRUE(heard.ok()) << heard.status();
  EXPECT_EQ(heard->facts, sent.facts);
  EXPECT_EQ(heard->number, sent.number);
  EXPECT_EQ(heard->heard, sent.heard);
  EXPECT_EQ(heard->heard_process, sent.heard_process);
  EXPECT_EQ(heard->mode, sent.mode);
  EXPECT_EQ(heard->tenures, sent.tenures);
  EXPECT_EQ(heard->floor, sent.floor);
  EXPECT_EQ(heard->address, sent.address);
  EXPECT_EQ(heard->schema_max, sent.schema_max);
  EXPECT_TRUE(heard->needs_copy);
  EXPECT_EQ(heard->last_switch, sent.last_switch);
}

TEST(PairWire, WhatMakesNoSenseForPeopleAloneIsLeftOut) {
  v1::Beat beat = to_proto(some_beat());
  beat.mutable_last_switch()->set_ago_ms(~uint64_t{0});
  EXPECT_TRUE(from_proto(beat)->last_switch);
  beat.mutable_last_switch()->set_to(v1::PAIR_MEMBER_UNSPECIFIED);
  const Result<Beat> heard = from_proto(beat);
  ASSERT_TRUE(heard.ok()) << heard.status();
  EXPECT_FALSE(heard->last_switch);
  Beat before;
  EXPECT_FALSE(from_proto(to_proto(before))->last_switch) << "of a version that does not say it";
}

TEST(PairWire, ABeatThatMakesNoSenseIsRefused) {
  const auto refused = [](const auto& change) {
    v1::Beat beat = to_proto(some_beat());
    change(beat);
    return split_reason(from_proto(beat).status()).code == "HF4120";
  };
  EXPECT_TRUE(refused([](v1::Beat& beat) { beat.set_promised(store::kMaxEpoch + 1); }));
  EXPECT_TRUE(refused([](v1::Beat& beat) { beat.set_hands_over(UINT64_MAX); }));
  EXPECT_TRUE(refused([](v1::Beat& beat) { beat.set_member(v1::PAIR_MEMBER_UNSPECIFIED); }));
  EXPECT_TRUE(refused([](v1::Beat& beat) { beat.set_state(static_cast<v1::PairState>(9)); }));
  EXPECT_TRUE(refused([](v1::Beat& beat) { beat.set_mode(v1::PAIR_MODE_UNSPECIFIED); }));
  EXPECT_TRUE(refused([](v1::Beat& beat) { beat.set_name(std::string(1000, 'x')); }));
  EXPECT_TRUE(refused([](v1::Beat& beat) {
    for (int i = 0; i < 100; ++i) beat.add_tenures();
  }));
}

TEST(PairWire, ARecordOfAnEpochThatNobodyCanHaveIsRefused) {
  v1::WitnessRecord record;
  record.set_epoch(store::kMaxEpoch);
  EXPECT_TRUE(from_proto(record).ok());
  record.set_epoch(store::kMaxEpoch + 1);
  EXPECT_EQ(split_reason(from_proto(record).status()).code, "HF4203");
}

TEST(PairWire, OnlyTheLatestTenuresTravel) {
  Beat beat = some_beat();
  beat.tenures.clear();
  for (Epoch epoch = 1; epoch <= 100; ++epoch) {
    beat.tenures.push_back({epoch, static_cast<store::Revision>(epoch)});
  }
  const Result<Beat> heard = from_proto(to_proto(beat));
  ASSERT_TRUE(heard.ok());
  EXPECT_EQ(heard->tenures.size(), kMaxTenures);
  EXPECT_EQ(heard->tenures.back().epoch, 100U);
}

TEST(PairWire, EntriesAndItemsComeOutAsTheyWentIn) {
  store::Entry entry{.head = {.epoch = 3, .revision = 9, .chain = 4}, .changes = {}};
  store::Change put;
  put.item = {.key = "/service/web", .value = std::string("\0x", 2), .revision = 9};
  put.item.created_revision = 4;
  put.item.expires = WallTime(std::chrono::milliseconds(1'700'000'000'250));
  store::Change gone{.type = store::Change::Type::Delete, .item = {}};
  gone.item.key = "/agent/a";
  gone.item.revision = 9;
  entry.changes = {put, gone};
  EXPECT_EQ(from_proto(to_proto(entry)), entry);
  EXPECT_EQ(from_proto(to_proto(put.item)), put.item);
}

TEST(PairWire, ARecordComesOutAsItWentIn) {
  const RecordChange change{
      .expected = 2,
      .record = {.epoch = 3, .in_sync = Members::of(Member::Primary), .store_ids = {"a", ""}},
      .force = true};
  const Result<RecordChange> back = from_proto(to_proto(change));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, change);
}

}  // namespace
}  // namespace holdfast::ha
