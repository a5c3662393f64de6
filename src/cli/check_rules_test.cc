// What `holdfast check` makes of what it finds.
#include "cli/check_rules.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "cli/reasons.h"
#include "resource/registry.h"

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

constexpr int64_t kRulesSeconds = 1'700'000'000;
constexpr WallTime kRulesNow(std::chrono::seconds{kRulesSeconds});

v1::NodeCount count_of(const char* kind, uint64_t online, uint64_t offline) {
  v1::NodeCount count;
  count.set_kind(kind);
  count.set_online(online);
  count.set_offline(offline);
  return count;
}

// As its active half says.
v1::PairStatus healthy_pair() {
  v1::PairStatus pair;
  pair.set_paired(true);
  pair.set_mode(v1::PAIR_MODE_WITNESS);
  pair.set_in_sync(true);
  pair.mutable_self()->set_name("ctl-a");
  pair.mutable_self()->set_state(v1::PAIR_STATE_ACTIVE);
  pair.mutable_self()->set_epoch(7);
  pair.mutable_peer()->set_name("ctl-b");
  pair.mutable_peer()->set_state(v1::PAIR_STATE_PASSIVE);
  pair.mutable_peer()->set_connected(true);
  return pair;
}

// Nothing wrong at all.
Findings healthy() {
  Findings found;
  found.server = "ctl:7443";
  found.certificate_ends = kRulesNow + 10h;
  found.asked_at = kRulesNow;
  found.answered_at = kRulesNow + 20ms;
  v1::GetStatusResponse status;
  status.set_cluster("prod");
  status.mutable_now()->set_seconds(kRulesSeconds);
  status.mutable_authority_expires()->set_seconds(kRulesSeconds + 86400 * 3650L);
  status.add_components()->set_name("store");
  for (const char* kind : {"controller", "proxy", "agent"})
    *status.add_nodes() = count_of(kind, 2, 0);
  found.status = status;
  found.pair = healthy_pair();
  found.authority = v1::Authority();
  found.tokens = std::vector<v1::Resource>();
  found.services =
      std::vector<v1::Resource>{resource::make_resource(resource::Kind::Service, "web")};
  v1::Resource agent = resource::make_resource(resource::Kind::Agent, "edge-1");
  agent.mutable_agent()->add_services()->set_service("web");
  agent.mutable_agent()->mutable_services(0)->set_healthy(true);
  agent.mutable_agent()->add_tunnels()->set_proxy("px-1");
  agent.mutable_agent()->mutable_tracking()->set_services(2);
  found.agents = std::vector<v1::Resource>{agent};
  found.proxies = std::vector<v1::Resource>{resource::make_resource(resource::Kind::Proxy, "px-1")};
  v1::Resource map = resource::make_resource(resource::Kind::ZoneMap, "default");
  map.mutable_zone_map()->add_zones()->set_name("a");
  found.zone_maps = std::vector<v1::Resource>{map};
  return found;
}

CheckResult rule_result(const Findings& found, std::string_view title_part) {
  for (const CheckResult& result : judge(found)) {
    if (result.title.contains(title_part)) return result;
  }
  ADD_FAILURE() << "no check of " << title_part;
  return {};
}

TEST(Check, AHealthyClusterPassesEverything) {
  const std::vector<CheckResult> results = judge(healthy());

  EXPECT_EQ(count(results).passed, results.size());
  EXPECT_EQ(exit_of(count(results), true), Exit::Ok);
  for (const std::string_view category : check_categories()) {
    EXPECT_NE(std::ranges::find(results, category, &CheckResult::category), results.end())
        << category;
  }
}

TEST(Check, SaysWhyConnectionsAreNotCounted) {
  Findings found = healthy();
  EXPECT_EQ(rule_result(found, "in the kernel").detail, "1 of 1, 2 virtual IPs and ports");

  v1::AgentTracking& tracking = *found.agents->front().mutable_agent()->mutable_tracking();
  tracking.set_code("HF8108");
  tracking.set_reason("opening /run/holdfast/bpf/hf_services: No such file or directory");
  const CheckResult off = rule_result(found, "in the kernel");
  EXPECT_EQ(off.verdict, Verdict::Warning);
  EXPECT_EQ(off.code, "HF8108");
  EXPECT_EQ(off.detail,
            "edge-1: HF8108 opening /run/holdfast/bpf/hf_services: No such file or directory");
  EXPECT_TRUE(off.next.contains("holdfastd track check")) << off.next;

  found.agents->front().mutable_agent()->clear_tracking();
  EXPECT_EQ(rule_result(found, "in the kernel").verdict, Verdict::Skipped);
  EXPECT_EQ(rule_result(found, "in the kernel").detail,
            "no agent is told to (agent.tracking.enabled)");
}

// It may be for kernels alone; but if an agent exposes it, that is to work.
TEST(Check, AServiceWithEndpointsNeedsNoAgentThatExposesIt) {
  Findings found = healthy();
  v1::Resource& vip =
      found.services->emplace_back(resource::make_resource(resource::Kind::Service, "vip"));
  vip.mutable_service()->add_endpoints()->set_address("10.1.0.1:80");
  EXPECT_EQ(rule_result(found, "is carried by").verdict, Verdict::Passed);

  found.agents->front().mutable_agent()->add_services()->set_service("vip");

  EXPECT_EQ(rule_result(found, "is carried by").verdict, Verdict::Warning);
}

TEST(Check, ACapacityOfAZoneThatNobodyKnowsIsFound) {
  Findings found = healthy();
  auto& capacity = *found.services->front().mutable_service()->mutable_zone_capacity();
  capacity["a"] = 10;
  EXPECT_EQ(rule_result(found, "has a capacity").detail, "1 capacity");
  capacity["zone-aa"] = 10;
  const CheckResult typo = rule_result(found, "has a capacity");
  EXPECT_EQ(typo.verdict, Verdict::Warning);
  EXPECT_EQ(typo.code, "HF1047");
  EXPECT_EQ(typo.detail, "web: zone-aa");

  // It need not be listed: proxies limit what goes to agents that are there.
  found.agents->front().mutable_agent()->set_zone("zone-aa");
  EXPECT_EQ(rule_result(found, "has a capacity").verdict, Verdict::Passed);
  found.zone_maps = absl::PermissionDeniedError("no");
  EXPECT_EQ(rule_result(found, "has a capacity").verdict, Verdict::Skipped);
}

TEST(Check, WhoCannotBeReachedIsFound) {
  const struct {
    const char* title;
    void (*spoil)(Findings&);
    Verdict verdict;
    const char* code;
  } cases[] = {
      {"takes tunnels", [](Findings& f) { f.proxies->front().mutable_proxy()->set_draining(true); },
       Verdict::Failed, "HF1043"},
      {"has a tunnel",
       [](Findings& f) {
         f.agents->push_back(resource::make_resource(resource::Kind::Agent, "edge-2"));
       },
       Verdict::Warning, "HF1044"},
      {"is carried", [](Findings& f) { f.agents->clear(); }, Verdict::Warning, "HF1045"},
      {"expose is healthy",
       [](Findings& f) {
         f.agents->push_back(f.agents->front());
         f.agents->back().mutable_agent()->mutable_services(0)->set_healthy(false);
       },
       Verdict::Warning, "HF1046"},
  };
  for (const auto& each : cases) {
    Findings found = healthy();
    each.spoil(found);
    const CheckResult result = rule_result(found, each.title);
    EXPECT_EQ(result.verdict, each.verdict) << each.title;
    EXPECT_EQ(result.code, each.code) << each.title;
    EXPECT_EQ(count(judge(found)).warnings + count(judge(found)).failed, 1U) << each.title;
  }
}

TEST(Check, WhatIsNotHealthyIsNamedWithWhereAndWhy) {
  Findings found = healthy();
  v1::ExposedService& web = *found.agents->front().mutable_agent()->mutable_services(0);
  web.set_healthy(false);
  web.set_reason("HTTP 500");

  EXPECT_EQ(rule_result(found, "expose is healthy").detail, "web on edge-1: HTTP 500");
  EXPECT_EQ(rule_result(found, "is carried").verdict, Verdict::Warning);

  found.agents->front()
      .mutable_agent()
      ->mutable_announcement()
      ->mutable_offline_since()
      ->set_seconds(1);
  EXPECT_EQ(rule_result(found, "expose is healthy").verdict, Verdict::Passed)
      << "that it is away is said elsewhere";
}

TEST(Check, EachTroubleHasItsVerdictAndCode) {
  const struct {
    const char* title;
    void (*spoil)(Findings&);
    Verdict verdict;
    const char* code;
  } cases[] = {
      {"your certificate", [](Findings& f) { f.certificate_ends = kRulesNow + 5h; },
       Verdict::Warning, "HF5030"},
      {"your certificate", [](Findings& f) { f.certificate_ends = kRulesNow; }, Verdict::Failed,
       "HF5003"},
      {"clocks", [](Findings& f) { f.status->mutable_now()->set_seconds(kRulesSeconds + 3); },
       Verdict::Failed, "HF5031"},
      {"clocks", [](Findings& f) { f.status->mutable_now()->set_seconds(kRulesSeconds - 3); },
       Verdict::Failed, "HF5031"},
      {"is healthy", [](Findings& f) { f.status->set_state(v1::HEALTH_STATE_DEGRADED); },
       Verdict::Failed, "HF1030"},
      {"is healthy", [](Findings& f) { f.status->set_state(v1::HEALTH_STATE_RECOVERING); },
       Verdict::Warning, "HF1030"},
      {"an authority", [](Findings& f) { f.status->clear_cluster(); }, Verdict::Failed, "HF5013"},
      {"30 days",
       [](Findings& f) {
         f.status->mutable_authority_expires()->set_seconds(kRulesSeconds + 86400 * 29);
       },
       Verdict::Warning, "HF5032"},
      {"30 days",
       [](Findings& f) { f.status->mutable_authority_expires()->set_seconds(kRulesSeconds); },
       Verdict::Failed, "HF5032"},
      {"rotation",
       [](Findings& f) {
         f.authority->set_phase(v1::ROTATION_PHASE_DUAL);
         f.authority->mutable_phase_since()->set_seconds(kRulesSeconds - 86400 * 3);
       },
       Verdict::Warning, "HF5033"},
      {"every token",
       [](Findings& f) {
         f.tokens->push_back(resource::make_resource(resource::Kind::Token, "endless"));
       },
       Verdict::Warning, "HF5034"},
      {"controllers",
       [](Findings& f) { *f.status->mutable_nodes(0) = count_of("controller", 1, 1); },
       Verdict::Warning, "HF1040"},
      {"proxies", [](Findings& f) { *f.status->mutable_nodes(1) = count_of("proxy", 1, 1); },
       Verdict::Warning, "HF1041"},
      {"agents", [](Findings& f) { *f.status->mutable_nodes(2) = count_of("agent", 0, 9); },
       Verdict::Failed, "HF1042"},
  };
  for (const auto& [title, spoil, verdict, code] : cases) {
    Findings found = healthy();
    spoil(found);
    const CheckResult result = rule_result(found, title);
    EXPECT_EQ(result.verdict, verdict) << title;
    EXPECT_EQ(result.code, code) << title;
    EXPECT_FALSE(result.next.empty()) << title;
    EXPECT_EQ(count(judge(found)).warnings + count(judge(found)).failed, 1U)
        << title << ": one trouble, one finding";
  }
}

TEST(Check, AComponentSpeaksForItself) {
  Findings found = healthy();
  v1::ComponentStatus& store = *found.status->mutable_components(0);
  store.set_state(v1::HEALTH_STATE_DEGRADED);
  store.set_code("HF1101");
  store.set_reason("no answer in 5 s");

  const CheckResult result = rule_result(found, "component store");

  EXPECT_EQ(result.verdict, Verdict::Failed);
  EXPECT_EQ(result.code, "HF1101");
  EXPECT_EQ(result.detail, "degraded: no answer in 5 s");
}

TEST(Check, ASlowAnswerIsNoWrongClock) {
  Findings found = healthy();
  found.answered_at = kRulesNow + 9s;
  found.status->mutable_now()->set_seconds(kRulesSeconds + 8);
  EXPECT_EQ(rule_result(found, "clocks").verdict, Verdict::Passed);
}

TEST(Check, WithoutAControllerOneFailsAndTheRestSaysWhyNot) {
  Findings found;
  found.asked = {.server = "ctl:7443"};
  found.status = absl::UnavailableError("refused");

  const std::vector<CheckResult> results = judge(found);

  EXPECT_EQ(count(results).failed, 1U);
  EXPECT_EQ(count(results).skipped, results.size() - 1);
  EXPECT_EQ(results.front().code, "HF1001");
  for (const CheckResult& result : results) EXPECT_FALSE(result.detail.empty()) << result.title;
}

TEST(Check, WhatMayNotBeAskedIsSkippedAndNotFailed) {
  Findings found = healthy();
  found.tokens = absl::PermissionDeniedError("no");
  found.certificate_ends.reset();
  EXPECT_EQ(rule_result(found, "every token").verdict, Verdict::Skipped);
  EXPECT_EQ(rule_result(found, "your certificate").verdict, Verdict::Skipped);
  EXPECT_EQ(exit_of(count(judge(found)), true), Exit::Ok);
}

TEST(Check, TheExitFollowsTheWorst) {
  EXPECT_EQ(exit_of({.warnings = 1}, false), Exit::Ok);
  EXPECT_EQ(exit_of({.warnings = 1}, true), Exit::Warned);
  EXPECT_EQ(exit_of({.warnings = 1, .failed = 1}, true), Exit::Failed);
}

TEST(Check, IsShownByCategoryWithTheFixBelow) {
  const std::vector<CheckResult> results = {
      {.category = "a", .title = "good", .detail = "fine"},
      {.category = "a",
       .title = "bad",
       .verdict = Verdict::Failed,
       .detail = "\x1b[2J",
       .code = "HF1030",
       .next = "mend it"},
  };
  const std::string gap(40, ' ');
  const std::string bad =
      "FAIL bad  " + gap + "\\x1b[2J\n    fix: mend it   holdfast explain HF1030\n";

  EXPECT_EQ(
      render_checks(results, Console(), false),
      "a\n-\nok   good " + gap + "fine\n" + bad + "1 passed, 0 warnings, 1 failed, 0 skipped\n");
  EXPECT_EQ(render_checks(results, Console(), true),
            bad + "1 passed, 0 warnings, 1 failed, 0 skipped\n");
}

TEST(Check, JsonHasEveryResultAndTheCounts) {
  const std::string json = checks_json(judge(healthy()));
  for (const char* part : {"\"kind\": \"check\"", "\"verdict\": \"passed\"", "\"failed\": 0",
                           "\"category\": \"presence\""}) {
    EXPECT_TRUE(json.contains(part)) << part;
  }
}

}  // namespace
}  // namespace holdfast::cli
