#include "cache/published.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/rng.h"
#include "cache/snapshot.h"

namespace holdfast::cache {
namespace {

using resource::Kind;
using PublishedNumbers = Published<int>;

TEST(Published, AReaderSeesWhatIsCurrent) {
  PublishedNumbers published(std::make_unique<int>(1));
  PublishedNumbers::Reader reader(published);
  EXPECT_EQ(*reader.read(), 1);

  published.publish(std::make_unique<int>(2));

  EXPECT_EQ(*reader.read(), 2);
  EXPECT_EQ(published.current(), 2);
}

TEST(Published, WhatIsReadIsKeptUntilItsGuardGoes) {
  Published<std::shared_ptr<const int>> published(
      std::make_unique<std::shared_ptr<const int>>(std::make_shared<const int>(1)));
  const std::weak_ptr<const int> first = published.current();
  Published<std::shared_ptr<const int>>::Reader reader(published);
  {
    const auto guard = reader.read();
    published.publish(std::make_unique<std::shared_ptr<const int>>());
    EXPECT_EQ(published.reclaim().read, 1u);
    EXPECT_EQ(**guard, 1);
  }

  EXPECT_FALSE(first.expired()) << "only the writer frees";
  EXPECT_TRUE(published.reclaim().none());
  EXPECT_TRUE(first.expired());
}

TEST(Published, ALingeringReaderKeepsNoMoreThanOneValue) {
  PublishedNumbers published(std::make_unique<int>(0));
  PublishedNumbers::Reader reader(published);
  const auto guard = reader.read();

  for (int i = 1; i <= 1'000; ++i) published.publish(std::make_unique<int>(i));

  EXPECT_EQ(published.reclaim(), (PublishedNumbers::Left{.read = 1}));
  EXPECT_EQ(*guard, 0);
}

TEST(Published, FreesNoMoreThanTheBudgetAndSaysWhatIsLeft) {
  PublishedNumbers published(std::make_unique<int>(0));
  for (int i = 1; i <= 10; ++i) published.publish(std::make_unique<int>(i));
  published.discard(std::make_unique<int>(11));

  EXPECT_EQ(published.reclaim(4), (PublishedNumbers::Left{.unread = 7}));
  EXPECT_EQ(published.reclaim(0), (PublishedNumbers::Left{.unread = 7}));
  EXPECT_TRUE(published.reclaim(7).none());
}

TEST(Published, ASlotIsFreeAgainWhenItsReaderHasGone) {
  PublishedNumbers published(std::make_unique<int>(1), {.max_readers = 1});
  for (int i = 0; i < 3; ++i) {
    PublishedNumbers::Reader reader(published);
    EXPECT_EQ(*reader.read(), 1);
  }
}

TEST(PublishedDeathTest, TwoGuardsOfOneReaderAreABug) {
  PublishedNumbers published(std::make_unique<int>(1));
  PublishedNumbers::Reader reader(published);
  const auto guard = reader.read();

  EXPECT_DEATH(reader.read(), "one guard at a time");
}

TEST(PublishedDeathTest, MoreReadersThanAllowedAreABug) {
  PublishedNumbers published(std::make_unique<int>(1), {.max_readers = 2});
  PublishedNumbers::Reader one(published), two(published);

  EXPECT_DEATH(PublishedNumbers::Reader{published}, "max_readers");
}

// Every generation holds `kItems` agents that carry its number; some names come and go.
constexpr int kItems = 32;
constexpr int kGenerations = 2'000;
constexpr int kReaders = 3;

Shared published_agent(int item, int64_t generation) {
  auto resource = std::make_shared<v1::Resource>();
  resource->mutable_metadata()->set_name("edge-" + std::to_string(item));
  resource->mutable_metadata()->set_revision(generation);
  resource->mutable_agent()->set_zone("zone of generation " + std::to_string(generation));
  return resource;
}

// Reads one generation and says what does not belong to it.
std::string wrong_in(const KindGuard<Kind::Agent>& agents, Rng& rng) {
  const int64_t generation = agents.revision();
  const std::string zone = "zone of generation " + std::to_string(generation);
  if (agents.generation() != static_cast<uint64_t>(generation)) return "the heads differ";
  for (int i = 0; i < 4; ++i) {
    const auto found = agents.find("edge-" + std::to_string(rng.below(kItems)));
    if (!found) return "an agent is missing";
    if (found->metadata.revision() != generation || found->body.zone() != zone) {
      return "an agent is of another generation";
    }
  }
  size_t count = 0;
  if (rng.below(8) == 0) {
    agents.for_each([&](const auto& entry) {
      count += entry.metadata.revision() == generation ? 1 : 0;
      return true;
    });
    if (count != kItems || agents.size() != kItems) return "the whole is not of one generation";
  }
  return "";
}

struct ReaderResult {
  std::string wrong;
  uint64_t reads = 0;
  uint64_t generations = 0;
};

// Where all readers begin before the writer does, and how they learn that it has ended.
struct Race {
  Published<Snapshot>& published;
  std::latch begun{kReaders};
  std::atomic<bool> over = false;
};

ReaderResult read_until_over(Race& race, uint64_t seed) {
  ReaderResult result;
  Rng rng(seed);
  View view(race.published);
  uint64_t last = 0;
  for (bool over = false; result.wrong.empty() && !over;) {
    over = race.over.load();
    const auto agents = view.read<Kind::Agent>();
    result.wrong = wrong_in(agents, rng);
    if (agents.generation() < last) result.wrong = "time went backwards";
    result.generations += agents.generation() != last ? 1 : 0;
    last = agents.generation();
    if (++result.reads == 1) race.begun.count_down();
  }
  if (result.wrong.empty() && last != kGenerations) result.wrong = "it missed the last one";
  return result;
}

TEST(PublishedThreads, NoReaderEverSeesHalfAGeneration) {
  Snapshot next;
  KindView& agents = next.of(Kind::Agent);
  const auto change_all = [&](int64_t generation) {
    // Half of the generations are built anew, as after a fetch; half are made of the one before.
    if (generation % 2 == 0) agents.items = Table();
    for (int i = 0; i < kItems; ++i) agents.items.put(published_agent(i, generation));
    agents.source = Source::Cache;
    agents.generation = static_cast<uint64_t>(generation);
    agents.revision = generation;
  };
  change_all(1);
  Published<Snapshot> published(std::make_unique<Snapshot>(next));
  Race race{published};
  std::vector<ReaderResult> results(kReaders);
  std::vector<std::jthread> readers;
  for (size_t i = 0; i < kReaders; ++i) {
    readers.emplace_back([&, i] { results[i] = read_until_over(race, i + 1); });
  }
  race.begun.wait();

  for (int64_t generation = 2; generation <= kGenerations; ++generation) {
    change_all(generation);
    published.publish(std::make_unique<Snapshot>(next));
    const auto left = published.reclaim(200);
    EXPECT_LE(left.read, size_t{kReaders});
    if (generation % 16 == 0) std::this_thread::yield();
  }
  race.over = true;
  readers.clear();

  for (const ReaderResult& result : results) {
    EXPECT_EQ(result.wrong, "");
    EXPECT_GT(result.reads, 0u);
    EXPECT_GT(result.generations, 1u);
  }
  EXPECT_TRUE(published.reclaim().none());
}

TEST(PublishedThreads, ReadersComeAndGoWhileTheWriterPublishes) {
  PublishedNumbers published(std::make_unique<int>(0), {.max_readers = kReaders});
  std::atomic<bool> over = false;
  std::atomic<int> wrong = 0;
  std::vector<std::jthread> readers;
  for (int i = 0; i < kReaders; ++i) {
    readers.emplace_back([&] {
      for (int last = 0; !over.load();) {
        PublishedNumbers::Reader reader(published);
        const auto guard = reader.read();
        if (*guard < last) wrong += 1;
        last = *guard;
      }
    });
  }

  for (int i = 1; i <= 20'000; ++i) {
    published.publish(std::make_unique<int>(i));
    published.reclaim();
  }
  over = true;
  readers.clear();

  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(published.reclaim().none());
}

}  // namespace
}  // namespace holdfast::cache
