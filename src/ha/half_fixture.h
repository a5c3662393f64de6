// One half and hands that feed it: for its tests.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/reason.h"
#include "ha/half.h"

namespace holdfast::ha {

class HalfTest : public testing::Test {
 protected:
  static constexpr Duration kBeat = std::chrono::milliseconds(100);

  explicit HalfTest(Member me = Member::Primary, Mode mode = Mode::Witness) : me_(me) {
    options_.pair = {.me = me, .mode = mode};
    options_.process = "mine";
    options_.name = std::string(to_string(me));
    options_.address = options_.name + ":7443";
    options_.schema_min = options_.schema_max = 1;
    peers_.process = "theirs";
    peers_.name = std::string(to_string(other(me)));
    peers_.address = peers_.name + ":7443";
    peers_.mode = mode;
    peers_.facts = {.member = other(me), .state = initial_state(other(me)), .store_id = "B"};
    make({});
  }

  void make(Protocol::Durable durable) {
    durable.store_id = "A";
    durable.first_of_pair = true;
    half_.emplace(options_, durable, now_);
  }

  // Both are there, this half is passive and the other active in its first epoch; in sync.
  void follow() {
    const Epoch epoch = next_epoch(0, other(me_));
    make({.promised = epoch, .head = {epoch, 5, 1}});
    take(half_->start(now_));
    peers_.facts.state = State::Active;
    peers_.facts.promised = epoch;
    peers_.facts.head = {epoch, 5, 1};
    peers_.in_sync = true;
    peers_.facts.record = record(epoch, Members::both());
    witness_ = peers_.facts.record;
    answer();
    hear();
    ASSERT_EQ(half_->protocol().state(), State::Passive);
  }
  // This half is active in its own epoch; the other is passive, in sync and hears us.
  void lead() {
    const Epoch epoch = next_epoch(0, me_);
    make({.promised = epoch, .head = {epoch, 5, 1}});
    take(half_->start(now_));
    witness_ = record(epoch, Members::both());
    answer();
    begin();
    peers_.facts.state = State::Passive;
    peers_.facts.promised = epoch;
    peers_.facts.head = {epoch, 5, 1};
    take(half_->on_acked({epoch, 5, 1}, "B", now_));
    for (int i = 0; i < 3; ++i) exchange();
    ASSERT_TRUE(half_->is_active());
  }

  Record record(Epoch epoch, Members members) const {
    Record record{.epoch = epoch, .in_sync = members};
    record.store_id(me_) = "A";
    record.store_id(other(me_)) = "B";
    return record;
  }

  void take(HalfActions actions) {
    for (HalfAction& action : actions) {
      if (const auto* ask = std::get_if<AskWitness>(&action)) {
        if (ask->id >> 63 == 0) asked_ = *ask;
        asks_ += ask->id >> 63 == 0 ? 1 : 0;
      } else if (const auto* begin = std::get_if<BeginTenure>(&action)) {
        begun_ = begin->epoch;
      } else if (std::holds_alternative<Quiesce>(action)) {
        quiesced_ += 1;
      } else {
        urgent_ += 1;
      }
    }
  }

  // The witness answers the latest question by its rules.
  void answer() {
    ASSERT_TRUE(asked_);
    const AskWitness ask = *std::exchange(asked_, std::nullopt);
    bool accepted = false;
    if (ask.change && may_replace(witness_, *ask.change).ok()) {
      witness_ = ask.change->record;
      accepted = true;
    }
    take(half_->on_witness(ask.id, {accepted, witness_}, now_));
  }
  void witness_is_silent() {
    ASSERT_TRUE(asked_);
    take(half_->on_witness_silent(std::exchange(asked_, std::nullopt)->id, now_));
  }
  void begin() {
    ASSERT_NE(begun_, 0U);
    take(half_->on_tenure(std::exchange(begun_, 0), now_));
  }

  // A beat of the peer's comes, echoing what it has heard of us.
  void hear() {
    peers_.number += 1;
    take(half_->on_beat(peers_, now_));
  }
  Beat send() { return half_->next_beat(now_, facts_); }
  // Time passes, a tick at each deadline.
  void pass(Duration length) {
    const Time end = now_ + length;
    while (half_->next_deadline() <= end) {
      now_ = half_->next_deadline();
      take(half_->on_tick(now_));
    }
    now_ = end;
  }
  // A beat's time passes, and each half hears the other.
  void exchange() {
    const Beat mine = send();
    peers_.heard = mine.number;
    peers_.heard_process = mine.process;
    pass(kBeat);
    hear();
  }
  std::string code(const Status& status) const { return std::string(split_reason(status).code); }

  Member me_;
  Time now_{std::chrono::hours(1)};
  HalfOptions options_;
  Beat peers_;
  store::ReplicaFacts facts_;
  Record witness_;
  std::optional<AskWitness> asked_;
  Epoch begun_ = 0;
  int asks_ = 0;
  int urgent_ = 0;
  int quiesced_ = 0;
  std::optional<Half> half_;
};

}  // namespace holdfast::ha
