#include "cli/caches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "resource/registry.h"

namespace holdfast::cli {
namespace {

using testing::HasSubstr;

constexpr int64_t kNowSeconds = 1'700'000'000;
constexpr WallTime kNow(std::chrono::seconds{kNowSeconds});

v1::CachedKind cached(const std::string& kind, const std::string& source) {
  v1::CachedKind cache;
  cache.set_kind(kind);
  cache.set_source(source);
  cache.set_generation(3);
  cache.mutable_since()->set_seconds(kNowSeconds - 192);
  cache.set_items(24);
  cache.set_revision(812);
  return cache;
}

v1::Resource edge() {
  v1::Resource agent = resource::make_resource(resource::Kind::Agent, "edge-1");
  *agent.mutable_agent()->add_caches() = cached("service", "cache");
  v1::CachedKind stale = cached("zone_map", "stale");
  stale.set_items(0);
  stale.set_code("HF1201");
  stale.set_reason("no controller for 12s");
  *agent.mutable_agent()->add_caches() = stale;
  return agent;
}

v1::Resource front() {
  v1::Resource proxy = resource::make_resource(resource::Kind::Proxy, "front");
  *proxy.mutable_proxy()->add_caches() = cached("agent", "upstream");
  return proxy;
}

TEST(Caches, ATableSaysForEachNodeAndKindWhereReadsAreAnswered) {
  EXPECT_EQ(render_caches({caches_of(edge()), caches_of(front())}, {.now = kNow}),
            "NODE           KIND       SOURCE     GENERATION   SINCE   ITEMS   REASON\n"
            "agent/edge-1   service    cache      3            3m12s   24      -\n"
            "agent/edge-1   zone_map   stale      3            3m12s   0       "
            "no controller for 12s\n"
            "proxy/front    agent      upstream   3            3m12s   24      -\n");
}

TEST(Caches, TheWideTableHasRevisionAndCode) {
  const std::string wide =
      render_caches({caches_of(edge())}, {.output = Output::Wide, .now = kNow});

  EXPECT_THAT(wide, HasSubstr("REVISION   CODE\n"));
  EXPECT_THAT(wide, HasSubstr("no controller for 12s   812        HF1201\n"));
}

TEST(Caches, JsonHasZerosAndIsAListUnlessOneWasNamed) {
  const std::string one =
      render_caches({caches_of(edge())}, {.output = Output::Json, .single = true, .now = kNow});
  const std::string list = render_caches({caches_of(edge())}, {.output = Output::Json});

  EXPECT_THAT(one, HasSubstr("\"kind\": \"caches\",\n  \"node\": \"agent/edge-1\""));
  EXPECT_THAT(one, HasSubstr("\"items\": 0"));
  EXPECT_THAT(one, HasSubstr("\"since\": \"2023-11-14T22:10:08.000Z\""));
  EXPECT_THAT(list, HasSubstr("\"kind\": \"caches_list\",\n  \"items\": [\n    {\n      \"node\""));
  EXPECT_THAT(render_caches({caches_of(edge())}, {.output = Output::Yaml, .single = true}),
              HasSubstr("node: agent/edge-1\ncaches:\n"));
  EXPECT_EQ(render_caches({caches_of(edge()), caches_of(front())}, {.output = Output::Name}),
            "agent/edge-1\nproxy/front\n");
}

TEST(Caches, WhatANodeSaysIsReadAlsoIfItIsNewer) {
  const Result<v1::GetCachesResponse> said = parse_caches(
      R"({"apiVersion":"holdfast/v9","node":"agent/edge-1","mood":{"a":[1]},"caches":[
          {"kind":"service","source":"stale","generation":3,"since":"2023-11-14T22:10:08Z",
           "code":"HF1201","reason":"gone","items":2,"revision":7,"colour":"red"}]})");

  ASSERT_TRUE(said.ok()) << said.status();
  EXPECT_EQ(said->node(), "agent/edge-1");
  ASSERT_EQ(said->caches_size(), 1);
  EXPECT_EQ(said->caches(0).since().seconds(), kNowSeconds - 192);
  EXPECT_EQ(said->caches(0).code(), "HF1201");
}

TEST(Caches, WhatIsSomethingElseIsRefused) {
  for (const char* text :
       {"", "[]", "{}", "null", "not json", R"({"node":7})",
        R"({"node":"agent/a","caches":"none"})", R"({"node":"agent/a","caches":[1]})",
        R"({"node":"agent/a","caches":[{"items":-1}]})"}) {
    EXPECT_TRUE(absl::IsDataLoss(parse_caches(text).status())) << text;
  }
}

TEST(Caches, TheWordIsTakenInEverySpelling) {
  for (const char* word : {"caches", "cache", "Caches", "caches/agent/edge-1"}) {
    EXPECT_TRUE(is_caches(word)) << word;
  }
  for (const char* word : {"", "cach", "cachesx", "service/caches"}) {
    EXPECT_FALSE(is_caches(word)) << word;
  }
}

}  // namespace
}  // namespace holdfast::cli
