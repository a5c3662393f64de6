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
                                    .max_quiet = 10,
                                    .max_unauthenticated_per_address = 8,
                                    .failures_per_second = 10,
                                    .failure_burst = 50,
                                    .failures_per_second_per_address = 5,
                                    .failure_burst_per_address = 30,
                                    .max_failing_addresses = 100,
                                    .min_retry = 1s,
                                    .max_retry = 30s};

class AdmissionTest : public testing::Test {
 protected:
  // Who comes and speaks at once.
  std::optional<Admission::Ticket> arrive(const std::string& address) {
    const auto ticket = admission_.arrive(address, now_);
    if (ticket) admission_.spoke(*ticket);
    return ticket;
  }
  // So many that nobody shares an address.
  void arrive(int count) {
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(arrive("10.0.0." + std::to_string(++last_address_)));
    }
  }
  void fail(const std::string& address) {
    ASSERT_TRUE(arrive(address));
    const auto start = admission_.next(now_);
    ASSERT_TRUE(start);
    admission_.finish(start->ticket, Admission::Outcome::Failed, now_);
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
  const auto ticket = arrive("10.0.0.1");
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
  EXPECT_NE(arrive("10.1.0.1"), std::nullopt) << "it was being accepted while the queue filled";
  admission_.next(now_);
  EXPECT_FALSE(admission_.may_accept());
  admission_.next(now_);
  EXPECT_TRUE(admission_.may_accept());
  EXPECT_EQ(admission_.stats().dropped, 0U);
}

TEST_F(AdmissionTest, AnAddressHasOnlySoManyStrangers) {
  std::vector<Admission::Ticket> tickets;
  for (int i = 0; i < 8; ++i) tickets.push_back(*arrive("10.9.9.9"));
  EXPECT_EQ(arrive("10.9.9.9"), std::nullopt);
  EXPECT_TRUE(arrive("10.0.0.1"));
  EXPECT_EQ(admission_.stats().dropped, 1U);

  ASSERT_TRUE(admission_.next(now_));
  admission_.authenticated(tickets[0]);
  EXPECT_TRUE(arrive("10.9.9.9")) << "one of them is known now";
}

TEST_F(AdmissionTest, AnAddressCannotTakeEverySlot) {
  for (int i = 0; i < 8; ++i) arrive("10.9.9.9");
  const auto other = arrive("10.0.0.1");
  std::vector<Admission::Ticket> started;
  while (const auto start = admission_.next(now_)) started.push_back(start->ticket);
  EXPECT_THAT(started, testing::ElementsAre(1U, *other, 2U));
}

TEST_F(AdmissionTest, WhoSaysNothingHasNoSlot) {
  std::vector<Admission::Ticket> silent;
  for (const char* host : {"10.9.9.8", "10.9.9.9"}) {
    for (int i = 0; i < 8; ++i) silent.push_back(*admission_.arrive(host, now_));
  }
  EXPECT_FALSE(admission_.next(now_));
  arrive(4);
  EXPECT_EQ(admit_all(), 4);

  for (const Admission::Ticket ticket : silent) {
    admission_.finish(ticket, Admission::Outcome::Quiet, now_);
  }
  EXPECT_EQ(admission_.quiet(), 0U);
  EXPECT_EQ(admission_.stats().quiet, 16U);
  EXPECT_TRUE(arrive("10.9.9.9")) << "to be quiet is no failed handshake";
}

TEST_F(AdmissionTest, WhoWasQuietForLongestMakesRoom) {
  EXPECT_EQ(admission_.make_room(now_), std::nullopt);
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(admission_.arrive("10.0.0." + std::to_string(i), now_));
    EXPECT_EQ(admission_.make_room(now_), std::nullopt);
  }
  ASSERT_TRUE(admission_.arrive("10.1.0.1", now_));
  EXPECT_THAT(admission_.make_room(now_), Optional(1U));
  admission_.spoke(1);
  EXPECT_EQ(admission_.waiting(), 0U) << "it is gone";
  EXPECT_EQ(admission_.quiet(), 10U);
}

TEST_F(AdmissionTest, SlotsGoToTheAddressThatHasFewest) {
  std::vector<Admission::Ticket> first;
  for (int i = 0; i < 3; ++i) first.push_back(*arrive("10.9.9.9"));
  ASSERT_TRUE(admission_.next(now_));
  const auto other = arrive("10.0.0.1");
  EXPECT_EQ(admission_.next(now_)->ticket, *other) << "though it came later";
  EXPECT_EQ(admission_.next(now_)->ticket, first[1]);
}

TEST_F(AdmissionTest, TheLastSlotsAreForAddressesThatHaveNone) {
  for (const char* host : {"10.9.9.8", "10.9.9.9"}) {
    for (int i = 0; i < 8; ++i) arrive(host);
  }
  while (admission_.next(now_)) {
  }
  EXPECT_EQ(admission_.handshakes(), 3U);
  const auto other = arrive("10.0.0.1");
  const auto start = admission_.next(now_);
  ASSERT_TRUE(start);
  EXPECT_EQ(start->ticket, *other);
}

TEST_F(AdmissionTest, StrangersDoNotUseUpWhatAgentsNeed) {
  for (int i = 0; i < 30; ++i) fail("10.9.9.9");
  arrive(20);
  EXPECT_EQ(admit_all(), 20);
  EXPECT_EQ(admission_.stats().failed, 30U);
}

TEST_F(AdmissionTest, AnAddressThatFailsTooOftenIsDroppedForAWhile) {
  for (int i = 0; i < 30; ++i) fail("10.9.9.9");
  EXPECT_EQ(arrive("10.9.9.9"), std::nullopt);
  EXPECT_EQ(admission_.stats().failing, 1U);
  EXPECT_TRUE(admission_.arrive("10.0.0.1", now_));

  now_ += 1s;
  for (int i = 0; i < 5; ++i) fail("10.9.9.9");
  EXPECT_EQ(arrive("10.9.9.9"), std::nullopt) << "so many a second";
  now_ += 1min;
  EXPECT_TRUE(arrive("10.9.9.9"));
}

TEST_F(AdmissionTest, WithTooManyFailuresInAllOnlyThoseComeInThatHaveNotFailed) {
  for (int i = 0; i < 50; ++i) fail("10.9.9." + std::to_string(i));
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(arrive("10.9.9." + std::to_string(i)), std::nullopt) << i;
  }
  EXPECT_TRUE(arrive("10.0.0.1"));
  now_ += 1s;
  EXPECT_TRUE(arrive("10.9.9.9"));
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
