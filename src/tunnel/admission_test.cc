#include "tunnel/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::tunnel {
namespace {

using namespace std::chrono_literals;
using testing::Optional;

constexpr AdmissionOptions kOptions{.max_handshakes = 4,
                                    .tunnels_per_second = 10,
                                    .burst = 20,
                                    .max_waiting = 100,
                                    .max_wait = 5s,
                                    .max_unauthenticated_per_address = 8,
                                    .min_retry = 1s,
                                    .max_retry = 30s};

class AdmissionTest : public testing::Test {
 protected:
  // So many that nobody shares an address.
  void arrive(int count) {
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(admission_.arrive("10.0.0." + std::to_string(++last_address_), now_));
    }
  }
  // Starts, admits and ends all that may start now.
  int admit_all() {
    int admitted = 0;
    while (const auto start = admission_.next(now_)) {
      admission_.authenticated(start->ticket);
      admission_.finish(start->ticket,
                        start->refuse ? Admission::Outcome::Refused : Admission::Outcome::Admitted,
                        now_);
      if (!start->refuse) ++admitted;
    }
    return admitted;
  }

  Time now_{1000s};
  int last_address_ = 0;
  Admission admission_{kOptions, 7, now_};
};

TEST_F(AdmissionTest, StartsAtOnceWhatComesAlone) {
  const auto ticket = admission_.arrive("10.0.0.1", now_);
  const auto start = admission_.next(now_);
  ASSERT_TRUE(ticket && start);
  EXPECT_EQ(start->ticket, *ticket);
  EXPECT_EQ(start->refuse, std::nullopt);
  EXPECT_FALSE(admission_.next(now_));
}

TEST_F(AdmissionTest, OnlySoManyHandshakesRunAtOnce) {
  arrive(10);
  std::vector<Admission::Ticket> running;
  while (const auto start = admission_.next(now_)) running.push_back(start->ticket);
  EXPECT_EQ(running.size(), 4U);
  EXPECT_EQ(admission_.next_deadline(now_), std::nullopt) << "a slot must come back first";

  admission_.finish(running[0], Admission::Outcome::Admitted, now_);
  const auto next = admission_.next(now_);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->ticket, 5U) << "in order of arrival";
  EXPECT_EQ(admission_.handshakes(), 4U);
}

TEST_F(AdmissionTest, NewTunnelsKeepToTheRateAfterABurst) {
  arrive(100);
  EXPECT_EQ(admit_all(), 20);
  int admitted = 0;
  for (int i = 0; i < 40; ++i) {
    now_ += 100ms;
    admitted += admit_all();
  }
  EXPECT_EQ(admitted, 40);
}

TEST_F(AdmissionTest, SaysWhenTheNextTokenIsThere) {
  arrive(21);
  admit_all();
  const std::optional<Time> deadline = admission_.next_deadline(now_);
  ASSERT_TRUE(deadline);
  EXPECT_LE(*deadline, now_ + 101ms);
  now_ = *deadline;
  EXPECT_EQ(admit_all(), 1);
  EXPECT_EQ(admission_.next_deadline(now_), std::nullopt);
}

TEST_F(AdmissionTest, WhoWaitedTooLongIsRefusedWithATimeToComeBack) {
  arrive(100);
  admit_all();
  now_ += 5s;
  std::set<Duration> times;
  int admitted = 0;
  while (const auto start = admission_.next(now_)) {
    if (start->refuse) {
      times.insert(*start->refuse);
      EXPECT_GE(*start->refuse, 1s);
      EXPECT_LE(*start->refuse, 30s);
    } else {
      ++admitted;
    }
    admission_.finish(start->ticket,
                      start->refuse ? Admission::Outcome::Refused : Admission::Outcome::Admitted,
                      now_);
  }
  EXPECT_EQ(admitted, 20);
  EXPECT_EQ(admission_.stats().refused, 60U);
  EXPECT_GT(times.size(), 50U) << "they must not come back together";
  EXPECT_EQ(admission_.waiting(), 0U);
}

TEST_F(AdmissionTest, ALongerQueueIsAskedToComeBackLater) {
  arrive(100);
  admit_all();
  EXPECT_EQ(admission_.waiting(), 80U);
  for (int i = 0; i < 20; ++i) {
    const Duration later = admission_.retry_after(now_);
    EXPECT_GE(later, 8s);
    EXPECT_LE(later, 16s);
  }
}

TEST_F(AdmissionTest, AFullQueueLeavesTheRestInTheBacklog) {
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(admission_.may_accept());
    arrive(1);
  }
  EXPECT_FALSE(admission_.may_accept());
  EXPECT_EQ(admission_.arrive("10.1.0.1", now_), std::nullopt);
  admission_.next(now_);
  EXPECT_TRUE(admission_.may_accept());
  EXPECT_EQ(admission_.stats().max_waiting_seen, 100U);
}

TEST_F(AdmissionTest, AnAddressHasOnlySoManyStrangers) {
  std::vector<Admission::Ticket> tickets;
  for (int i = 0; i < 8; ++i) tickets.push_back(*admission_.arrive("10.9.9.9", now_));
  EXPECT_EQ(admission_.arrive("10.9.9.9", now_), std::nullopt);
  EXPECT_TRUE(admission_.arrive("10.0.0.1", now_));
  EXPECT_EQ(admission_.stats().dropped, 1U);

  ASSERT_TRUE(admission_.next(now_));
  admission_.authenticated(tickets[0]);
  EXPECT_TRUE(admission_.arrive("10.9.9.9", now_)) << "one of them is known now";
}

TEST_F(AdmissionTest, AnAddressCannotTakeEverySlot) {
  for (int i = 0; i < 8; ++i) admission_.arrive("10.9.9.9", now_);
  const auto other = admission_.arrive("10.0.0.1", now_);
  std::vector<Admission::Ticket> started;
  while (const auto start = admission_.next(now_)) started.push_back(start->ticket);
  EXPECT_THAT(started, testing::ElementsAre(1U, 2U, *other));
}

TEST_F(AdmissionTest, StrangersDoNotUseUpWhatAgentsNeed) {
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(admission_.arrive("10.9.9.9", now_));
    const auto start = admission_.next(now_);
    ASSERT_TRUE(start);
    admission_.finish(start->ticket, Admission::Outcome::Failed, now_);
  }
  arrive(20);
  EXPECT_EQ(admit_all(), 20);
  EXPECT_EQ(admission_.stats().failed, 200U);
}

TEST_F(AdmissionTest, WhoLeavesWhileItWaitsIsForgotten) {
  arrive(3);
  for (Admission::Ticket ticket = 1; ticket <= 3; ++ticket) {
    admission_.finish(ticket, Admission::Outcome::Failed, now_);
    admission_.finish(ticket, Admission::Outcome::Failed, now_);
  }
  EXPECT_EQ(admission_.waiting(), 0U);
  EXPECT_EQ(admission_.stats().failed, 3U);
  EXPECT_FALSE(admission_.next(now_));
}

}  // namespace
}  // namespace holdfast::tunnel
