#include "cli/caches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "resource/registry.h"

namespace holdfast::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

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
  agent.mutable_agent()->mutable_last_heartbeat()->set_seconds(kNowSeconds - 20);
  return agent;
}

v1::Resource front() {
  v1::Resource proxy = resource::make_resource(resource::Kind::Proxy, "front");
  *proxy.mutable_proxy()->add_caches() = cached("agent", "upstream");
  return proxy;
}

TEST(Caches, ATableSaysForEachNodeAndKindWhereReadsAreAnswered) {
  EXPECT_EQ(render_caches({caches_of(edge()), caches_of(front())}, {.now = kNow}),
            "NODE           KIND       SOURCE     GENERATION   SINCE   ITEMS   AS OF   REASON\n"
            "agent/edge-1   service    cache      3            3m12s   24      20s     -\n"
            "agent/edge-1   zone_map   stale      3            3m12s   0       20s     "
            "no controller for 12s\n"
            "proxy/front    agent      upstream   3            3m12s   24      -       -\n");
}

TEST(Caches, WhatANodeSaysItselfHasNoAge) {
  EXPECT_EQ(render_caches({caches_of(front())}, {.now = kNow}),
            "NODE          KIND    SOURCE     GENERATION   SINCE   ITEMS   REASON\n"
            "proxy/front   agent   upstream   3            3m12s   24      -\n");
}

TEST(Caches, ANodeThatIsOfflineAnswersNothing) {
  v1::Resource gone = edge();
  gone.mutable_agent()->mutable_announcement()->mutable_offline_since()->set_seconds(kNowSeconds);

  const std::string table = render_caches({caches_of(gone)}, {.now = kNow});
  const std::string json =
      render_caches({caches_of(gone)}, {.output = Output::Json, .single = true, .now = kNow});

  EXPECT_THAT(table, HasSubstr("service    offline   3            3m12s   24      20s     "
                               "offline since 2023-11-14T22:13:20.000Z\n"));
  EXPECT_THAT(table, Not(HasSubstr("stale")));
  EXPECT_THAT(json, HasSubstr("\"offline_since\": \"2023-11-14T22:13:20.000Z\""));
  EXPECT_THAT(json, HasSubstr("\"last_heartbeat\": \"2023-11-14T22:13:00.000Z\""));
  EXPECT_THAT(json, HasSubstr("\"source\": \"offline\""));
  EXPECT_THAT(json, Not(HasSubstr("HF1201")));
}

TEST(Caches, ATimeThatIsNotSetIsNoAge) {
  v1::Resource proxy = front();
  proxy.mutable_proxy()->mutable_caches(0)->mutable_since()->set_seconds(0);

  EXPECT_THAT(render_caches({caches_of(proxy)}, {.now = kNow}),
              HasSubstr("upstream   3            -       24      -\n"));
  EXPECT_THAT(render_caches({caches_of(proxy)}, {.output = Output::Json}), Not(HasSubstr("since")));
}

TEST(Caches, AReasonIsCutOnlyWhereATerminalWouldWrapIt) {
  v1::Resource proxy = front();
  const std::string why = std::string(200, 'w') + " the end";
  proxy.mutable_proxy()->mutable_caches(0)->set_reason(why);
  const std::vector<NodeCaches> nodes = {caches_of(proxy)};

  EXPECT_THAT(render_caches(nodes, {.now = kNow}), HasSubstr("www…\n"));
  EXPECT_THAT(render_caches(nodes, {.last = LastColumn::Whole, .now = kNow}),
              HasSubstr(why + "\n"));
  EXPECT_THAT(render_caches(nodes, {.output = Output::Wide, .now = kNow}), HasSubstr(why + "\n"));
}

TEST(Caches, TheWideTableHasRevisionAndCode) {
  const std::string wide =
      render_caches({caches_of(edge())}, {.output = Output::Wide, .now = kNow});

  EXPECT_THAT(wide, HasSubstr("REVISION   CODE     REASON\n"));
  EXPECT_THAT(wide, HasSubstr("812        HF1201   no controller for 12s\n"));
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
              HasSubstr("node: agent/edge-1\nlast_heartbeat: 2023-11-14T22:13:00.000Z\ncaches:\n"));
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
