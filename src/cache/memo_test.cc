#include "cache/memo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/result.h"

namespace holdfast::cache {
namespace {

using namespace std::chrono_literals;
using Value = Result<int>;
using Numbers = Memo<Value>;

std::shared_ptr<const Value> value(Value of) {
  return std::make_shared<const Value>(std::move(of));
}

// The ticket of a load; 0 if it is none.
Numbers::Ticket load_of(const Numbers::Answer& answer) {
  const auto* load = std::get_if<Numbers::Load>(&answer);
  return load == nullptr ? 0 : load->ticket;
}
Numbers::Ticket join_of(const Numbers::Answer& answer) {
  const auto* join = std::get_if<Numbers::Join>(&answer);
  return join == nullptr ? 0 : join->ticket;
}
// What is known; null if nothing is.
const Value* known_of(const Numbers::Answer& answer) {
  const auto* known = std::get_if<Numbers::Known>(&answer);
  return known == nullptr ? nullptr : known->result.get();
}

TEST(Memo, OneLoadsAndTheOthersJoinIt) {
  Numbers memo({});

  const Numbers::Ticket ticket = load_of(memo.ask("a", Time(0s)));

  EXPECT_NE(ticket, 0u);
  EXPECT_EQ(join_of(memo.ask("a", Time(0s))), ticket);
  EXPECT_EQ(join_of(memo.ask("a", Time(100s))), ticket) << "a load has no end of its own";
  EXPECT_NE(load_of(memo.ask("b", Time(0s))), 0u) << "another key is another load";
  EXPECT_EQ(memo.stats().loads, 2u);
  EXPECT_EQ(memo.stats().joined, 2u);
}

TEST(Memo, AResultIsKnownForOneSecondFromItsEnd) {
  Numbers memo({});
  const Numbers::Ticket ticket = load_of(memo.ask("a", Time(0s)));
  memo.finish(ticket, value(7), 1, Time(5s));

  const Numbers::Answer in_time = memo.ask("a", Time(5s + 999ms));

  ASSERT_NE(known_of(in_time), nullptr);
  EXPECT_EQ(**known_of(in_time), 7);
  EXPECT_NE(load_of(memo.ask("a", Time(6s))), 0u) << "after a second it is loaded anew";
  EXPECT_EQ(memo.stats().remembered, 1u);
}

TEST(Memo, AFailureIsRememberedAsLongAsASuccess) {
  Numbers memo({});
  memo.finish(load_of(memo.ask("a", Time(0s))), value(absl::UnimplementedError("no")), 1, Time(0s));

  const Numbers::Answer again = memo.ask("a", Time(999ms));

  ASSERT_NE(known_of(again), nullptr);
  EXPECT_EQ(known_of(again)->status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_NE(load_of(memo.ask("a", Time(1s))), 0u);
}

TEST(Memo, WhenFullTheOldestResultGoesFirst) {
  Numbers memo({.max_keys = 2});
  memo.finish(load_of(memo.ask("old", Time(0s))), value(1), 1, Time(0s));
  memo.finish(load_of(memo.ask("new", Time(0s))), value(2), 1, Time(10ms));

  const Numbers::Ticket third = load_of(memo.ask("third", Time(20ms)));
  memo.finish(third, value(3), 1, Time(20ms));

  EXPECT_EQ(memo.size(), 2u);
  EXPECT_EQ(memo.stats().dropped, 1u);
  EXPECT_NE(known_of(memo.ask("new", Time(30ms))), nullptr);
  EXPECT_NE(known_of(memo.ask("third", Time(30ms))), nullptr);
  EXPECT_NE(load_of(memo.ask("old", Time(30ms))), 0u);
}

TEST(Memo, WhenEveryPlaceIsBeingLoadedALoadIsNotRemembered) {
  Numbers memo({.max_keys = 1});
  const Numbers::Ticket first = load_of(memo.ask("a", Time(0s)));

  const Numbers::Ticket second = load_of(memo.ask("b", Time(0s)));
  const Numbers::Ticket third = load_of(memo.ask("b", Time(0s)));
  memo.finish(second, value(2), 1, Time(0s));
  memo.finish(third, value(3), 1, Time(0s));

  EXPECT_NE(second, third) << "nobody can join what has no place";
  EXPECT_EQ(memo.stats().without_memo, 2u);
  EXPECT_EQ(memo.size(), 1u);
  EXPECT_EQ(join_of(memo.ask("a", Time(0s))), first) << "what has a place keeps it";
}

TEST(Memo, AKeyThatIsTooLongIsLoadedButNotKept) {
  Numbers memo({.max_key_bytes = 3});

  const Numbers::Ticket ticket = load_of(memo.ask("long", Time(0s)));
  memo.finish(ticket, value(1), 1, Time(0s));

  EXPECT_EQ(memo.size(), 0u);
  EXPECT_NE(load_of(memo.ask("long", Time(0s))), 0u);
}

TEST(Memo, WhenTheResultsAreTooLargeTheOldestGoFirst) {
  Numbers memo({.max_bytes = 100});
  for (const char* key : {"a", "b", "c", "d"}) {
    memo.finish(load_of(memo.ask(key, Time(0s))), value(1), 25, Time(0s));
  }
  EXPECT_EQ(memo.bytes(), 100u);
  EXPECT_EQ(memo.stats().dropped, 0u);

  memo.finish(load_of(memo.ask("e", Time(0s))), value(5), 20, Time(0s));

  EXPECT_EQ(memo.bytes(), 95u);
  EXPECT_EQ(memo.stats().dropped, 1u);
  EXPECT_NE(known_of(memo.ask("e", Time(0s))), nullptr);
  EXPECT_NE(known_of(memo.ask("b", Time(0s))), nullptr);
  EXPECT_NE(load_of(memo.ask("a", Time(0s))), 0u);
  memo.on_tick(Time(1s));
  EXPECT_EQ(memo.bytes(), 0u);
}

TEST(Memo, AResultLargerThanAQuarterOfTheRoomIsNotKept) {
  Numbers memo({.max_bytes = 100});
  memo.finish(load_of(memo.ask("small", Time(0s))), value(1), 25, Time(0s));

  memo.finish(load_of(memo.ask("large", Time(0s))), value(2), 26, Time(0s));

  EXPECT_EQ(memo.stats().dropped, 1u);
  EXPECT_NE(known_of(memo.ask("small", Time(0s))), nullptr) << "it pushes nothing out";
  EXPECT_NE(load_of(memo.ask("large", Time(0s))), 0u);
}

TEST(Memo, CleansUpWithoutBeingAsked) {
  Numbers memo({});
  EXPECT_EQ(memo.next_deadline(), std::nullopt);
  memo.finish(load_of(memo.ask("a", Time(0s))), value(1), 1, Time(0s));
  memo.finish(load_of(memo.ask("b", Time(0s))), value(2), 1, Time(300ms));
  const Numbers::Ticket running = load_of(memo.ask("c", Time(300ms)));

  EXPECT_EQ(memo.next_deadline(), Time(1s));
  memo.on_tick(Time(1s));
  EXPECT_EQ(memo.size(), 2u);
  memo.on_tick(Time(100s));

  EXPECT_EQ(memo.size(), 1u) << "only what is being loaded is left";
  EXPECT_EQ(memo.next_deadline(), std::nullopt);
  EXPECT_EQ(join_of(memo.ask("c", Time(100s))), running);
}

}  // namespace
}  // namespace holdfast::cache
