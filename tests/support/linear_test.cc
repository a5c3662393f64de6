#include "support/linear.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/rng.h"

namespace holdfast::test {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;
using Calls = std::vector<RegisterCall>;

Time at(int64_t ms) {
  return Time(milliseconds(ms));
}

struct During {
  int64_t from;
  int64_t to;
};

RegisterCall read(During during, const std::string& found) {
  return {.client = "r",
          .key = "k",
          .act = Act::Read,
          .value = found,
          .called = at(during.from),
          .returned = at(during.to)};
}
RegisterCall write(During during, const std::string& value, Ending ending = Ending::Ok) {
  return {.client = "w",
          .key = "k",
          .act = Act::Write,
          .value = value,
          .ending = ending,
          .called = at(during.from),
          .returned = at(during.to)};
}
RegisterCall remove(During during, Ending ending = Ending::Ok) {
  return {.client = "w",
          .key = "k",
          .act = Act::Remove,
          .ending = ending,
          .called = at(during.from),
          .returned = at(during.to)};
}
RegisterCall replace(During during, const std::string& expected, const std::string& value,
                     Ending ending = Ending::Ok) {
  return {.client = "w",
          .key = "k",
          .act = Act::CompareAndSet,
          .value = value,
          .expected = expected,
          .ending = ending,
          .called = at(during.from),
          .returned = at(during.to)};
}

bool holds(const Calls& calls) {
  return check_history(calls).kind == Verdict::Kind::Linearizable;
}
bool is_broken(const Calls& calls) {
  return check_history(calls).kind == Verdict::Kind::Broken;
}

TEST(Linear, NoCallsAndCallsOneAfterTheOtherHold) {
  EXPECT_TRUE(holds({}));
  EXPECT_TRUE(holds(
      {read({0, 1}, ""), write({2, 3}, "a"), read({4, 5}, "a"), remove({6, 7}), read({8, 9}, "")}));
}

TEST(Linear, ReadsBesideAWriteMaySeeEitherInTheOrderTheyCome) {
  EXPECT_TRUE(
      holds({write({0, 1}, "a"), write({2, 9}, "b"), read({3, 4}, "a"), read({5, 6}, "b")}));
  EXPECT_TRUE(
      is_broken({write({0, 1}, "a"), write({2, 9}, "b"), read({3, 4}, "b"), read({5, 6}, "a")}));
}

TEST(Linear, AStaleReadIsFound) {
  EXPECT_TRUE(is_broken({write({0, 1}, "a"), write({2, 3}, "b"), read({4, 5}, "a")}));
}

TEST(Linear, ALostWriteIsFound) {
  EXPECT_TRUE(is_broken({write({0, 1}, "a"), read({2, 3}, "")}));
  EXPECT_TRUE(is_broken({write({0, 1}, "a"), remove({2, 3}), read({4, 5}, "a")}));
}

TEST(Linear, AWriteThatComesBackIsFound) {
  EXPECT_TRUE(is_broken({write({0, 1}, "a"), read({2, 3}, "a"), write({4, 5}, "b"),
                         read({6, 7}, "b"), read({8, 9}, "a")}));
}

TEST(Linear, AValueNobodyWroteIsFoundAndOneReadBeforeItsWriteToo) {
  EXPECT_TRUE(is_broken({write({0, 1}, "a"), read({2, 3}, "z")}));
  EXPECT_TRUE(is_broken({read({0, 1}, "a"), write({2, 3}, "a")}));
}

TEST(Linear, AFailedWriteMustNotBeSeen) {
  EXPECT_TRUE(holds({write({0, 1}, "a"), write({2, 3}, "b", Ending::Failed), read({4, 5}, "a")}));
  EXPECT_TRUE(
      is_broken({write({0, 1}, "a"), write({2, 3}, "b", Ending::Failed), read({4, 5}, "b")}));
}

TEST(Linear, AnUnknownWriteMayNeverComeOrComeLateButOnlyOnce) {
  const RegisterCall unknown = write({2, 3}, "b", Ending::Unknown);
  EXPECT_TRUE(holds({write({0, 1}, "a"), unknown, read({4, 5}, "a"), read({6, 7}, "a")}));
  EXPECT_TRUE(holds({write({0, 1}, "a"), unknown, read({4, 5}, "a"), read({60, 70}, "b")}));
  EXPECT_TRUE(holds(
      {write({0, 1}, "a"), unknown, write({4, 5}, "c"), read({6, 7}, "c"), read({8, 9}, "b")}));
  EXPECT_TRUE(is_broken(
      {write({0, 1}, "a"), unknown, read({4, 5}, "b"), write({6, 7}, "c"), read({8, 9}, "b")}));
  EXPECT_TRUE(is_broken({read({0, 1}, "b"), unknown}));
}

TEST(Linear, AnUnknownRemovalMayComeLateToo) {
  EXPECT_TRUE(holds(
      {write({0, 1}, "a"), remove({2, 3}, Ending::Unknown), read({4, 5}, "a"), read({6, 7}, "")}));
  EXPECT_TRUE(is_broken({write({0, 1}, "a"), remove({2, 3}, Ending::Unknown), read({4, 5}, ""),
                         write({6, 7}, "b"), read({8, 9}, "")}));
}

TEST(Linear, AnUnknownReadSaysNothing) {
  RegisterCall unknown = read({2, 3}, "z");
  unknown.ending = Ending::Unknown;
  EXPECT_TRUE(holds({write({0, 1}, "a"), unknown, read({4, 5}, "a")}));
}

TEST(Linear, OfTwoThatReplaceTheSameOneMustBeRefused) {
  EXPECT_TRUE(
      is_broken({write({0, 1}, "a"), replace({2, 8}, "a", "b"), replace({3, 7}, "a", "c")}));
  EXPECT_TRUE(holds({write({0, 1}, "a"), replace({2, 8}, "a", "b"),
                     replace({3, 7}, "a", "c", Ending::Refused), read({9, 9}, "b")}));
  EXPECT_TRUE(holds({replace({0, 1}, "", "a"), replace({2, 3}, "a", "b", Ending::Unknown),
                     replace({4, 5}, "a", "c"), read({6, 7}, "c")}));
}

TEST(Linear, ARefusalNeedsAReason) {
  EXPECT_TRUE(is_broken({write({0, 1}, "a"), replace({2, 3}, "a", "b", Ending::Refused)}));
  EXPECT_TRUE(holds({write({0, 1}, "a"), write({1, 2}, "x", Ending::Unknown),
                     replace({2, 3}, "a", "b", Ending::Refused)}))
      << "the unknown write, which nobody read, is the reason";
}

TEST(Linear, KeysAreJudgedByThemselves) {
  RegisterCall elsewhere = read({2, 3}, "a");
  elsewhere.key = "other";
  const Verdict verdict = check_history({write({0, 1}, "a"), read({2, 3}, "a"), elsewhere});
  EXPECT_EQ(verdict.kind, Verdict::Kind::Broken);
  EXPECT_EQ(verdict.key, "other");
}

TEST(Linear, WhatIsBrokenIsShownWithoutWhatIsNotNeeded) {
  Calls calls;
  for (int i = 0; i < 100; ++i) calls.push_back(write({i * 10, i * 10 + 5}, std::to_string(i)));
  calls.push_back(write({7, 8}, "never-seen", Ending::Unknown));
  calls.push_back(read({506, 507}, "7"));
  const Verdict verdict = check_history(calls);
  ASSERT_EQ(verdict.kind, Verdict::Kind::Broken);
  EXPECT_THAT(verdict.explanation, HasSubstr("r reads k as 7 from 0.506000 s to 0.507000 s: ok"));
  EXPECT_THAT(verdict.explanation, HasSubstr("w writes k = 50 from 0.500000 s to 0.505000 s: ok"));
  EXPECT_LE(std::ranges::count(verdict.explanation, '\n'), 4) << verdict.explanation;
  EXPECT_THAT(verdict.explanation, Not(HasSubstr("never-seen")));
}

TEST(Linear, ASearchWithoutEndIsGivenUp) {
  Calls calls;
  for (int i = 0; i < 40; ++i) calls.push_back(write({0, 1000}, std::to_string(i)));
  for (int i = 0; i < 40; ++i) calls.push_back(remove({0, 0}, Ending::Unknown));
  calls.push_back(read({2000, 2001}, "nobody's"));
  EXPECT_EQ(check_history(calls, {.steps = 10'000}).kind, Verdict::Kind::Undecided);
}

// Tries every order of every choice of the unknown ones.
class Oracle {
 public:
  explicit Oracle(Calls calls) : calls_(std::move(calls)), used_(calls_.size()) {}
  bool holds() { return place_next(""); }

 private:
  static bool must_be_placed(const RegisterCall& call) {
    return call.ending == Ending::Ok || call.ending == Ending::Refused;
  }
  bool may_be_next(size_t candidate) const {
    if (used_[candidate] || calls_[candidate].ending == Ending::Failed) return false;
    for (size_t i = 0; i < calls_.size(); ++i) {
      const bool waits = !used_[i] && i != candidate && must_be_placed(calls_[i]);
      if (waits && calls_[i].returned < calls_[candidate].called) return false;
    }
    return true;
  }
  // Whether its answer is right; `content` becomes what is there after it.
  static bool answer_fits(const RegisterCall& call, std::string& content) {
    const std::string before = content;
    if (call.act == Act::Read) return call.ending == Ending::Unknown || call.value == before;
    if (call.act == Act::Remove) content.clear();
    if (call.act == Act::Write) content = call.value;
    if (call.act != Act::CompareAndSet) return true;
    const bool fits = before == call.expected;
    if (fits && call.ending != Ending::Refused) content = call.value;
    return call.ending == Ending::Unknown || fits == (call.ending == Ending::Ok);
  }
  bool place_next(const std::string& content) {
    bool all_placed = true;
    for (size_t i = 0; i < calls_.size(); ++i) {
      if (!used_[i] && must_be_placed(calls_[i])) all_placed = false;
      if (!may_be_next(i)) continue;
      std::string after = content;
      if (!answer_fits(calls_[i], after)) continue;
      used_[i] = true;
      const bool found = place_next(after);
      used_[i] = false;
      if (found) return true;
    }
    return all_placed;
  }

  Calls calls_;
  std::vector<bool> used_;
};

std::string print(const Calls& calls) {
  std::string text;
  for (const RegisterCall& call : calls) text += to_string(call, Time()) + "\n";
  return text;
}

// Few values and short times, so that about half of them hold.
RegisterCall any_call(Rng& rng, size_t number) {
  const auto from = static_cast<int64_t>(rng.below(uint64_t{12}));
  const During during{from, from + static_cast<int64_t>(rng.below(uint64_t{6}))};
  const std::string value(1, static_cast<char>('a' + rng.below(uint64_t{3})));
  const std::string own = rng.below(uint64_t{4}) == 0 ? value : "v" + std::to_string(number);
  const std::string other = "v" + std::to_string(rng.below(uint64_t{6}));
  const Ending endings[] = {Ending::Ok, Ending::Ok, Ending::Ok, Ending::Unknown, Ending::Failed};
  const Ending ending = endings[rng.below(std::size(endings))];
  switch (rng.below(uint64_t{8})) {
    case 0:
      return remove(during, ending);
    case 1:
      return replace(during, other, own, rng.below(uint64_t{3}) == 0 ? Ending::Refused : ending);
    case 2:
    case 3:
    case 4:
      return write(during, own, ending);
    default: {
      RegisterCall call = read(during, rng.below(uint64_t{4}) == 0 ? "" : other);
      call.ending = ending;
      return call;
    }
  }
}

TEST(Linear, AgreesWithTryingEveryOrder) {
  Rng rng(1);
  size_t held = 0;
  constexpr size_t kHistories = 4'000;
  for (size_t round = 0; round < kHistories; ++round) {
    Calls calls;
    const size_t count = 2 + rng.below(uint64_t{5});
    for (size_t i = 0; i < count; ++i) calls.push_back(any_call(rng, i));
    const bool truth = Oracle(calls).holds();
    const Verdict verdict = check_history(calls);
    ASSERT_EQ(verdict.holds(), truth) << "round " << round << "\n" << print(calls);
    if (!truth) ASSERT_THAT(verdict.explanation, HasSubstr("no order explains"));
    held += truth ? 1 : 0;
  }
  EXPECT_GT(held, kHistories / 10);
  EXPECT_LT(held, kHistories * 9 / 10);
}

// Eight clients on a register that really is one, with calls that are given up and come late.
Calls truthful_history(Rng& rng, size_t count) {
  Calls calls;
  std::vector<std::pair<int64_t, size_t>> points;
  std::vector<int64_t> free_at(8, 0);
  for (size_t i = 0; i < count; ++i) {
    const size_t client = rng.below(free_at.size());
    const int64_t from = free_at[client] + static_cast<int64_t>(rng.below(uint64_t{5}));
    int64_t point = from + static_cast<int64_t>(rng.below(uint64_t{20}));
    const int64_t to = point + static_cast<int64_t>(rng.below(uint64_t{20}));
    const uint64_t act = rng.below(uint64_t{20});
    const bool unknown = act >= 9 && rng.below(uint64_t{50}) == 0;
    const Ending ending = unknown ? Ending::Unknown : Ending::Ok;
    if (unknown) point += static_cast<int64_t>(rng.below(uint64_t{2000}));
    free_at[client] = to + 1;
    RegisterCall call = act < 9    ? read({from, to}, "")
                        : act < 19 ? write({from, to}, std::to_string(i), ending)
                                   : remove({from, to}, ending);
    calls.push_back(std::move(call));
    const bool never = unknown && rng.below(uint64_t{3}) == 0;
    if (!never) points.push_back({point, i});
  }
  std::ranges::sort(points);
  std::string content;
  for (const auto& [moment, number] : points) {
    RegisterCall& call = calls[number];
    if (call.act == Act::Read) call.value = content;
    if (call.act != Act::Read) content = call.value;
  }
  return calls;
}

// The value of a write that was over before another that was over before `read` began.
std::string overwritten_before(const Calls& calls, const RegisterCall& read) {
  const auto is_write = [](const RegisterCall& call) {
    return call.act == Act::Write && call.ending == Ending::Ok;
  };
  for (const RegisterCall& later : calls) {
    if (!is_write(later) || later.returned >= read.called) continue;
    for (const RegisterCall& earlier : calls) {
      if (is_write(earlier) && earlier.returned < later.called) return earlier.value;
    }
  }
  return {};
}

TEST(Linear, LongTruthfulHistoriesHoldAndOneStaleReadBreaksThem) {
  size_t broken = 0;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    Rng rng(seed);
    Calls calls = truthful_history(rng, 1500);
    const Verdict verdict = check_history(calls);
    ASSERT_TRUE(verdict.holds()) << "seed " << seed << ": " << verdict.explanation;
    RegisterCall& victim = calls[rng.below(calls.size())];
    if (victim.act != Act::Read) continue;
    const std::string stale = overwritten_before(calls, victim);
    if (stale.empty()) continue;
    victim.value = stale;
    EXPECT_TRUE(is_broken(calls)) << "seed " << seed;
    ++broken;
  }
  EXPECT_GE(broken, 2U);
}

}  // namespace
}  // namespace holdfast::test
