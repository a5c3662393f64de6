#include "api/write_batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.h"

namespace holdfast::api {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::SizeIs;

Time at(Duration elapsed) {
  return Time(elapsed);
}
store::Operation write_batches_put(std::string key, std::string value = "") {
  store::Operation operation;
  operation.key = std::move(key);
  operation.value = std::move(value);
  return operation;
}

TEST(WriteBatches, AWriteWaitsForOthersButNotForLong) {
  WriteBatches batches({.max_delay = 50ms});
  batches.add(write_batches_put("a"), at(0ms));
  batches.add(write_batches_put("b"), at(30ms));

  EXPECT_EQ(batches.next_deadline(), at(50ms));
  EXPECT_FALSE(batches.take(at(50ms - 1ns)).has_value());
  const auto batch = batches.take(at(50ms));

  ASSERT_TRUE(batch.has_value());
  EXPECT_THAT(batch->keys, ElementsAre("a", "b"));
  EXPECT_EQ(batches.next_deadline(), std::nullopt);
}

TEST(WriteBatches, AFullBatchGoesAtOnce) {
  WriteBatches batches({.max_operations = 3});
  for (const char* key : {"a", "b", "c", "d"}) batches.add(write_batches_put(key), at(0ms));

  const auto batch = batches.take(at(0ms));

  ASSERT_TRUE(batch.has_value());
  EXPECT_THAT(batch->keys, ElementsAre("a", "b", "c"));
  EXPECT_FALSE(batches.take(at(0ms)).has_value()) << "the fourth may still find company";
}

TEST(WriteBatches, BytesEndABatchTooButOneWriteAlwaysFits) {
  WriteBatches batches({.max_bytes = 100});
  batches.add(write_batches_put("a", std::string(500, 'x')), at(0ms));
  batches.add(write_batches_put("b", std::string(60, 'x')), at(0ms));
  batches.add(write_batches_put("c", std::string(60, 'x')), at(0ms));

  EXPECT_THAT(batches.take(at(1s))->keys, ElementsAre("a"));
  EXPECT_THAT(batches.take(at(1s))->keys, ElementsAre("b"));
}

TEST(WriteBatches, OfTwoWritesToOneKeyTheLaterGoesAndBothCallersAreAnswered) {
  WriteBatches batches({});
  const auto first = batches.add(write_batches_put("a", "old"), at(0ms));
  const auto second = batches.add(write_batches_put("a", "new"), at(10ms));

  EXPECT_EQ(batches.next_deadline(), at(50ms)) << "the later does not wait longer";
  const auto batch = batches.take(at(50ms));

  EXPECT_THAT(batch->tickets, ElementsAre(*first, *second));
  ASSERT_THAT(batch->operations, SizeIs(1));
  EXPECT_EQ(batch->operations[0].value, "new");
}

TEST(WriteBatches, AKeyInFlightWaitsForItsEnd) {
  WriteBatches batches({.max_in_flight = 2});
  batches.add(write_batches_put("a", "1"), at(0ms));
  const auto first = batches.take(at(1s));
  batches.add(write_batches_put("a", "2"), at(1s));
  EXPECT_EQ(batches.next_deadline(), std::nullopt);
  EXPECT_FALSE(batches.take(at(2s)).has_value());

  batches.done(*first);

  EXPECT_EQ(batches.take(at(2s))->operations[0].value, "2");
}

TEST(WriteBatches, NoMoreThanTwoAreInFlight) {
  WriteBatches batches({.max_operations = 1, .max_in_flight = 2});
  for (const char* key : {"a", "b", "c"}) batches.add(write_batches_put(key), at(0ms));
  const auto first = batches.take(at(0ms));
  const auto second = batches.take(at(0ms));

  EXPECT_FALSE(batches.take(at(1h)).has_value());
  EXPECT_EQ(batches.in_flight(), 2u);

  batches.done(*second);
  EXPECT_THAT(batches.take(at(0ms))->keys, ElementsAre("c"));
}

TEST(WriteBatches, RefusesCallersBeyondItsLimitUntilSomeAreAnswered) {
  WriteBatches batches({.max_waiting = 2});
  batches.add(write_batches_put("a"), at(0ms));
  batches.add(write_batches_put("a"), at(0ms));
  EXPECT_FALSE(batches.add(write_batches_put("b"), at(0ms)).has_value());
  const auto batch = batches.take(at(1s));
  EXPECT_FALSE(batches.add(write_batches_put("b"), at(0ms)).has_value())
      << "in flight is still waiting";

  batches.done(*batch);

  EXPECT_EQ(batches.waiting(), 0u);
  EXPECT_TRUE(batches.add(write_batches_put("b"), at(0ms)).has_value());
}

TEST(WriteBatches, AWriteNobodyWaitsForIsForgotten) {
  WriteBatches batches({});
  const auto first = batches.add(write_batches_put("a"), at(0ms));
  const auto second = batches.add(write_batches_put("a"), at(0ms));
  const auto other = batches.add(write_batches_put("b"), at(0ms));
  batches.drop(*first);
  batches.drop(*first);
  batches.drop(*other);

  EXPECT_EQ(batches.waiting(), 1u);
  const auto batch = batches.take(at(1s));
  EXPECT_THAT(batch->keys, ElementsAre("a"));
  EXPECT_THAT(batch->tickets, ElementsAre(*second));
}

TEST(WriteBatches, DroppingACallerInFlightLeavesTheNextWriteToItsKey) {
  WriteBatches batches({});
  const auto stuck = batches.add(write_batches_put("a", "1"), at(0ms));
  const auto first = batches.take(at(1s));
  batches.add(write_batches_put("a", "2"), at(1s));
  batches.drop(*stuck);

  EXPECT_EQ(batches.waiting(), 1u);
  batches.done(*first);
  EXPECT_EQ(batches.take(at(2s))->operations[0].value, "2");
}

TEST(WriteBatches, NothingIsLostOrReorderedOverRandomRuns) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Rng rng(seed);
    WriteBatches batches({.max_operations = 4, .max_waiting = 30});
    std::vector<WriteBatches::Batch> in_flight;
    std::map<std::string, int> applied;
    std::map<std::string, int> added;
    size_t answered = 0;
    size_t accepted = 0;
    for (int step = 0; step < 500; ++step) {
      const std::string key(1, static_cast<char>('a' + rng.below(uint64_t{12})));
      if (step < 400 &&
          batches.add(write_batches_put(key, std::to_string(step)), at(step * 10ms))) {
        accepted += 1;
        added[key] = step;
      }
      if (auto batch = batches.take(at(step * 10ms))) in_flight.push_back(*std::move(batch));
      ASSERT_LE(in_flight.size(), 2u);
      ASSERT_LE(batches.waiting(), 30u);
      if (in_flight.empty() || rng.below(uint64_t{2}) == 0) continue;
      const auto which =
          in_flight.begin() + static_cast<std::ptrdiff_t>(rng.below(uint64_t{in_flight.size()}));
      for (const store::Operation& operation : which->operations) {
        ASSERT_LT(applied[operation.key], std::stoi(operation.value) + 1) << "seed " << seed;
        applied[operation.key] = std::stoi(operation.value);
      }
      answered += which->tickets.size();
      batches.done(*which);
      in_flight.erase(which);
    }
    ASSERT_EQ(answered, accepted) << "seed " << seed;
    ASSERT_EQ(applied, added) << "seed " << seed;
  }
}

}  // namespace
}  // namespace holdfast::api
