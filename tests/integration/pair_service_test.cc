// Two halves of a pair in one process, whose beats the test carries, on a clock that it moves: what
// a half says of itself as time passes and nobody asks.
#include <gtest/gtest.h>

#include "ha/pair_service.h"
#include "store/memory_store.h"
#include "store/store_contract_fixture.h"

namespace holdfast::ha {
namespace {

using namespace std::chrono_literals;

class TwoHalves : public testing::Test {
 protected:
  void SetUp() override {
    primary_.emplace(loop_.get_executor(), clock_, first_, options(Member::Primary),
                     PairHooks{.changed = [this] { changes_ += 1; }});
    backup_.emplace(loop_.get_executor(), clock_, second_, options(Member::Backup), PairHooks{});
    primary_->start();
    backup_->start();
    for (int beats = 0; beats < 20 && !primary_->is_ready(); ++beats) {
      carry_beats();
      pass();
    }
    ASSERT_TRUE(primary_->is_active());
    ASSERT_TRUE(primary_->is_ready());
    changes_ = 0;
  }
  void TearDown() override {
    const auto stopped = [this]() -> asio::awaitable<bool> {
      co_await primary_->stop();
      co_await backup_->stop();
      co_return true;
    };
    store::run(loop_, stopped());
  }

  static PairOptions options(Member me) {
    PairOptions options{.half = {.pair = {.me = me, .mode = Mode::Sync}}};
    options.half.process = options.half.name = to_string(me);
    return options;
  }
  // The primary's is heard, and it hears so.
  void carry_beats() {
    backup_->on_beat(primary_->beat());
    primary_->on_beat(backup_->beat());
  }
  // The time of a beat: both notice it, by themselves.
  void pass() {
    clock_.advance(Timing{}.beat);
    for (PairService* half : {&*primary_, &*backup_}) {
      for (int i = 0; i < 10'000 && half->half().next_deadline() <= clock_.now(); ++i) {
        loop_.restart();
        loop_.run_one_for(1ms);
      }
      ASSERT_GT(half->half().next_deadline(), clock_.now());
    }
  }
  void pass(int beats) {
    for (int i = 0; i < beats; ++i) pass();
  }
  bool answers() const { return primary_->may_read().ok(); }

  asio::io_context loop_;
  ManualClock clock_;
  store::MemoryStore first_{loop_.get_executor(), {.store_id = std::string(32, 'a')}};
  store::MemoryStore second_{loop_.get_executor(), {.store_id = std::string(32, 'b')}};
  std::optional<PairService> primary_;
  std::optional<PairService> backup_;
  int changes_ = 0;
};

TEST_F(TwoHalves, AnActiveHalfThatNobodyConfirmsIsNotReadyByAndBy) {
  pass(6);
  ASSERT_FALSE(answers());
  EXPECT_TRUE(primary_->is_ready()) << "it may be a few beats that were lost";
  EXPECT_EQ(changes_, 0);

  pass(5);
  EXPECT_TRUE(primary_->is_active());
  EXPECT_FALSE(primary_->is_ready());
  EXPECT_EQ(changes_, 1) << "who tells health of it is called";

  carry_beats();
  EXPECT_TRUE(primary_->is_ready());
  EXPECT_EQ(changes_, 2);
}

TEST_F(TwoHalves, WhatLastsAMomentIsNotTold) {
  for (int times = 0; times < 3; ++times) {
    pass(8);
    ASSERT_FALSE(answers());
    carry_beats();
    ASSERT_TRUE(answers());
    EXPECT_TRUE(primary_->is_ready());
  }
  EXPECT_EQ(changes_, 0);
}

}  // namespace
}  // namespace holdfast::ha
