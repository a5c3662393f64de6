#include "cache/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "base/rng.h"

namespace holdfast::cache {
namespace {

using Model = std::map<std::string, int64_t>;

Shared table_agent(const std::string& name, int64_t revision = 1) {
  auto resource = std::make_shared<v1::Resource>();
  resource->mutable_metadata()->set_name(name);
  resource->mutable_metadata()->set_revision(revision);
  resource->mutable_agent()->set_zone("a");
  return resource;
}

Model table_contents(const Table& table) {
  Model found;
  table.for_each([&](const Shared& resource) {
    const auto& metadata = resource->metadata();
    EXPECT_TRUE(found.emplace(metadata.name(), metadata.revision()).second) << metadata.name();
    return true;
  });
  return found;
}

size_t one_bit(std::string_view name) {
  return Table::default_hash(name) % 2;
}
// Differs in the last bits only, so that the trie is as deep as it gets.
size_t last_bits(std::string_view name) {
  return Table::default_hash(name) << 58;
}
size_t always_equal(std::string_view) {
  return 0;
}

TEST(Table, HoldsNothingAtFirst) {
  const Table table;

  EXPECT_EQ(table.size(), 0u);
  EXPECT_EQ(table.find("edge-7"), nullptr);
  EXPECT_EQ(table.share("edge-7"), nullptr);
  EXPECT_THAT(table_contents(table), testing::IsEmpty());
}

TEST(Table, FindsTheVeryResourceThatWasPut) {
  Table table;
  const Shared edge = table_agent("edge-7");

  table.put(edge);
  table.put(table_agent("edge-8"));

  EXPECT_EQ(table.find("edge-7"), edge.get());
  EXPECT_EQ(table.share("edge-7"), edge);
  EXPECT_EQ(table.find("edge-70"), nullptr);
  EXPECT_EQ(table.size(), 2u);
}

TEST(Table, FindsThePartsOfAResource) {
  Table table;
  const Shared edge = table_agent("edge-7");
  table.put(edge);

  const Table::Parts parts = table.find_parts("edge-7");

  EXPECT_EQ(parts.resource, edge.get());
  EXPECT_EQ(parts.metadata, &edge->metadata());
  EXPECT_EQ(parts.body, &edge->agent());
  EXPECT_EQ(parts.body_case, v1::Resource::kAgent);
  EXPECT_EQ(table.find_parts("edge-8").resource, nullptr);
}

TEST(Table, PutReplacesWhatHasTheSameName) {
  Table table;
  const Shared old = table_agent("edge-7", 1);
  table.put(old);

  table.put(table_agent("edge-7", 2));

  EXPECT_EQ(table.find("edge-7")->metadata().revision(), 2);
  EXPECT_EQ(table.size(), 1u);
  EXPECT_EQ(old.use_count(), 1) << "the replaced resource is let go";
}

TEST(Table, ANameMayBeAskedForThatBelongsToTheErasedResource) {
  Table table;
  table.put(table_agent("an agent whose name is not kept within its string"));

  EXPECT_TRUE(table.erase(
      table.find("an agent whose name is not kept within its string")->metadata().name()));

  EXPECT_TRUE(table.empty());
}

TEST(Table, ForEachStopsWhenTold) {
  Table table;
  for (int i = 0; i < 500; ++i) table.put(table_agent("edge-" + std::to_string(i)));
  int visited = 0;

  table.for_each([&](const Shared&) { return ++visited < 100; });

  EXPECT_EQ(visited, 100);
}

TEST(Table, TheOrderDependsOnTheNamesAndNotOnWhatHappenedBefore) {
  std::vector<std::string> up, down;
  Table one, other;
  for (int i = 0; i < 300; ++i) one.put(table_agent("edge-" + std::to_string(i)));
  for (int i = 400; i-- > 0;) other.put(table_agent("edge-" + std::to_string(i)));
  for (int i = 300; i < 400; ++i) other.erase("edge-" + std::to_string(i));

  const auto into = [](std::vector<std::string>& names) {
    return [&](const Shared& each) { return names.push_back(each->metadata().name()), true; };
  };
  one.for_each(into(up));
  other.for_each(into(down));

  EXPECT_EQ(up, down);
}

TEST(Table, ACopyLetsGoOfWhatItAloneHas) {
  Table table;
  const Shared kept = table_agent("kept"), erased = table_agent("erased");
  table.put(kept);
  table.put(erased);
  {
    const Table copy = table;
    table.erase("erased");
    EXPECT_EQ(copy.find("erased"), erased.get());
    EXPECT_EQ(erased.use_count(), 2);
  }
  EXPECT_EQ(erased.use_count(), 1);
  EXPECT_EQ(kept.use_count(), 2);
}

TEST(Table, DismantlesInSlicesAndLeavesAloneWhatOthersShare) {
  constexpr int kCount = 5'000;
  std::vector<Shared> all;
  Table table;
  for (int i = 0; i < kCount; ++i) all.push_back(table_agent("edge-" + std::to_string(i)));
  for (const Shared& each : all) table.put(each);
  Table shared = table;
  for (int i = 0; i < kCount; i += 2) shared.erase("edge-" + std::to_string(i));
  const auto alive = [&] {
    return std::ranges::count_if(all, [](const Shared& each) { return each.use_count() > 1; });
  };

  int calls = 0;
  for (bool gone = false; !gone; ++calls) {
    const auto before = alive();
    size_t budget = 100;
    gone = table.dismantle(budget);
    EXPECT_TRUE(gone || budget == 0) << "it stops early only when the budget is used up";
    EXPECT_LE(before - alive(), 100);
  }

  EXPECT_GE(calls, kCount / 2 / 100);
  EXPECT_EQ(alive(), kCount / 2);
  EXPECT_EQ(table_contents(shared).size(), kCount / 2u);
  EXPECT_TRUE(table.empty());
}

TEST(Table, ATableThatIsHalfDismantledCanBeDestroyed) {
  const Shared last = table_agent("last");
  {
    Table table;
    table.put(last);
    for (int i = 0; i < 300; ++i) table.put(table_agent("edge-" + std::to_string(i)));
    size_t budget = 100;
    EXPECT_FALSE(table.dismantle(budget));
  }
  EXPECT_EQ(last.use_count(), 1);
}

struct HashCase {
  const char* name;
  Table::Hash hash;
};

class TableModel : public testing::TestWithParam<std::tuple<HashCase, uint64_t>> {};

// Random changes on a table and on a map; now and then a copy of both is kept, and in the end every
// copy must still be what it was.
TEST_P(TableModel, BehavesAsAMapAndCopiesNeverChange) {
  const auto& [hash, seed] = GetParam();
  Rng rng(seed);
  Table table(hash.hash);
  Model model;
  std::vector<std::pair<Table, Model>> copies;
  const uint64_t names = 1 + rng.below(400);

  for (int64_t step = 1; step <= 2'000; ++step) {
    const std::string name = "edge-" + std::to_string(rng.below(names));
    if (rng.below(5) < 3) {
      table.put(table_agent(name, step));
      model[name] = step;
    } else {
      EXPECT_EQ(table.erase(name), model.erase(name) == 1);
    }
    const std::string asked = "edge-" + std::to_string(rng.below(names));
    const v1::Resource* found = table.find(asked);
    ASSERT_EQ(found != nullptr, model.contains(asked)) << asked << " at step " << step;
    if (found != nullptr) ASSERT_EQ(found->metadata().revision(), model[asked]);
    ASSERT_EQ(table.size(), model.size());
    if (rng.below(100) == 0) copies.emplace_back(table, model);
    if (copies.size() > 8) copies.erase(copies.begin() + static_cast<long>(rng.below(8)));
  }

  EXPECT_EQ(table_contents(table), model);
  for (const auto& [copy, then] : copies) {
    EXPECT_EQ(table_contents(copy), then);
    EXPECT_EQ(copy.size(), then.size());
  }
}

INSTANTIATE_TEST_SUITE_P(Hashes, TableModel,
                         testing::Combine(testing::Values(HashCase{"Default", Table::default_hash},
                                                          HashCase{"OneBit", one_bit},
                                                          HashCase{"LastBits", last_bits},
                                                          HashCase{"AlwaysEqual", always_equal}),
                                          testing::Range(uint64_t{1}, uint64_t{9})),
                         [](const auto& info) {
                           return std::get<0>(info.param).name +
                                  std::to_string(std::get<1>(info.param));
                         });

}  // namespace
}  // namespace holdfast::cache
