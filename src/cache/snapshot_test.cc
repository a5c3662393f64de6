#include "cache/snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "resource/registry.h"

namespace holdfast::cache {
namespace {

using resource::Kind;

// What is written as if for one kind compiles for that kind only.
template <Kind K>
concept OffersPorts = requires(const KindGuard<K>& guard) { guard.find("web")->body.ports(); };
template <Kind K>
concept OffersZone = requires(const KindGuard<K>& guard) { guard.find("edge-7")->body.zone(); };
static_assert(OffersPorts<Kind::Service> && !OffersPorts<Kind::Agent>);
static_assert(OffersZone<Kind::Agent> && !OffersZone<Kind::Service>);
static_assert(!std::is_convertible_v<Entry<Kind::Agent>, Entry<Kind::Proxy>>);
static_assert(!std::is_convertible_v<KindGuard<Kind::Agent>, KindGuard<Kind::Proxy>>);
static_assert(!std::is_copy_constructible_v<KindGuard<Kind::Agent>>);

Shared shared(Kind kind, std::string_view name) {
  return std::make_shared<v1::Resource>(resource::make_resource(kind, name));
}

template <Kind K>
void expect_row_as_registered() {
  const v1::Resource resource = resource::make_resource(K, "any");
  const google::protobuf::Message* body = &BodyOf<K>::of(resource);

  EXPECT_EQ(body, resource::body_of(resource)) << resource::info(K).name;
}

TEST(Snapshot, EveryKindHasTheRowThatTheRegistryHas) {
  []<size_t... kIndex>(std::index_sequence<kIndex...>) {
    (expect_row_as_registered<static_cast<Kind>(kIndex)>(), ...);
  }(std::make_index_sequence<resource::kKindCount>());
}

TEST(Snapshot, AKindThatIsNotCachedReadsAsFalse) {
  auto first = std::make_unique<Snapshot>();
  first->of(Kind::Agent).items.put(shared(Kind::Agent, "edge-7"));
  Published<Snapshot> published(std::move(first));
  View view(published);

  const auto agents = view.read<Kind::Agent>();

  EXPECT_FALSE(agents);
  EXPECT_EQ(agents.source(), Source::Upstream);
  EXPECT_DEATH(agents.find("edge-7"), "read through CacheService");
}

TEST(Snapshot, ACachedKindGivesItsEntriesAsTheirOwnType) {
  auto first = std::make_unique<Snapshot>();
  v1::Resource edge = resource::make_resource(Kind::Agent, "edge-7");
  edge.mutable_agent()->set_zone("zurich");
  KindView& kind = first->of(Kind::Agent);
  kind.items.put(std::make_shared<v1::Resource>(edge));
  kind.items.put(shared(Kind::Agent, "edge-8"));
  kind.source = Source::Stale;
  kind.generation = 3;
  kind.revision = 41;
  Published<Snapshot> published(std::move(first));
  View view(published);

  const auto agents = view.read<Kind::Agent>();

  ASSERT_TRUE(agents);
  EXPECT_EQ(agents.source(), Source::Stale);
  EXPECT_EQ(agents.generation(), 3u);
  EXPECT_EQ(agents.revision(), 41);
  EXPECT_EQ(agents.size(), 2u);
  ASSERT_TRUE(agents.find("edge-7"));
  EXPECT_EQ(agents.find("edge-7")->metadata.name(), "edge-7");
  EXPECT_EQ(agents.find("edge-7")->body.zone(), "zurich");
  EXPECT_FALSE(agents.find("edge-9"));
  std::vector<std::string> names;
  agents.for_each([&](const Entry<Kind::Agent>& each) {
    names.push_back(each.metadata.name());
    return true;
  });
  EXPECT_THAT(names, testing::UnorderedElementsAre("edge-7", "edge-8"));
}

TEST(Snapshot, AGuardShowsItsOwnMomentThoughAnotherIsPublished) {
  Snapshot next;
  next.of(Kind::Role) = {.source = Source::Cache, .generation = 1};
  Published<Snapshot> published(std::make_unique<Snapshot>(next));
  View view(published);
  const auto before = view.read<Kind::Role>();

  next.of(Kind::Role).generation = 2;
  next.of(Kind::Role).items.put(shared(Kind::Role, "reader"));
  published.publish(std::make_unique<Snapshot>(next));

  EXPECT_EQ(before.generation(), 1u);
  EXPECT_FALSE(before.find("reader"));
  View other(published);
  EXPECT_TRUE(other.read<Kind::Role>().find("reader"));
  EXPECT_EQ(published.reclaim(), (Published<Snapshot>::Left{.read = 1}));
}

TEST(Snapshot, AGenerationThatNobodyReadsIsFreedInSlices) {
  auto first = std::make_unique<Snapshot>();
  const Shared one = shared(Kind::Agent, "one");
  for (int i = 0; i < 10'000; ++i) {
    first->of(Kind::Agent).items.put(shared(Kind::Agent, "edge-" + std::to_string(i)));
  }
  first->of(Kind::Agent).items.put(one);
  Published<Snapshot> published(std::move(first));

  published.publish(std::make_unique<Snapshot>());
  int calls = 1;
  while (!published.reclaim(500).none()) ++calls;

  EXPECT_GE(calls, 10'000 / 500);
  EXPECT_EQ(one.use_count(), 1);
}

}  // namespace
}  // namespace holdfast::cache
