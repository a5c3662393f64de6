#include "cli/check_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/carried.h"
#include "cli/load.h"
#include "cli/reasons.h"
#include "cli/status_text.h"
#include "cli/times.h"
#include "resource/registry.h"

namespace holdfast::cli {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto kCertificateLeft = hours(6);
constexpr auto kAuthorityLeft = hours(24 * 30);
constexpr auto kPhaseMayTake = hours(48);
constexpr auto kClocksMayDiffer = milliseconds(2000);

// Collects the results of one category after the other.
class Judge {
 public:
  explicit Judge(const Findings& found) : found_(found) {}

  std::vector<CheckResult> run() {
    category_ = "connection";
    reach();
    certificate();
    clocks();
    category_ = "controller";
    health();
    answers_questions();
    for (CheckResult& result : judge_pair(found_)) results_.push_back(std::move(result));
    category_ = "identity";
    authority_exists();
    authority_life();
    rotation();
    tokens();
    category_ = "presence";
    for (const auto& [kind, code] :
         {std::pair{"controller", "HF1040"}, {"proxy", "HF1041"}, {"agent", "HF1042"}}) {
      online(kind, code);
    }
    category_ = "reach";
    proxies_take_tunnels();
    agents_have_tunnels();
    services_are_carried();
    services_are_healthy();
    capacities_have_zones();
    category_ = "tracking";
    agents_count();
    return std::move(results_);
  }

 private:
  void pass(std::string title, std::string detail) {
    results_.push_back({category_, std::move(title), Verdict::Passed, std::move(detail)});
  }
  void skip(std::string title, std::string why) {
    results_.push_back({category_, std::move(title), Verdict::Skipped, std::move(why)});
  }
  // With the next step of the code's own row.
  void find(Verdict verdict, std::string title, std::string detail, std::string_view code) {
    const ReasonInfo* reason = find_reason(code);
    results_.push_back({category_, std::move(title), verdict, std::move(detail), std::string(code),
                        reason != nullptr ? std::string(reason->next) : ""});
  }
  // False, and skipped, if there is no status to look at.
  bool has_status(const char* title) {
    if (!found_.status.ok()) skip(title, "the controller's status is not known");
    return found_.status.ok();
  }

  void reach() {
    const char* title = "the controller answers";
    if (found_.unasked) {
      results_.push_back({category_, title, Verdict::Failed, found_.unasked->message,
                          found_.unasked->code, found_.unasked->next});
    } else if (!found_.status.ok()) {
      const Failure failure = explain(found_.status.status(), found_.asked);
      results_.push_back(
          {category_, title, Verdict::Failed, failure.message, failure.code, failure.next});
    } else {
      const auto took = found_.answered_at - found_.asked_at;
      pass(title, fmt::format("{}, {} ms", found_.server, took.count()));
    }
  }

  void certificate() {
    const char* title = "your certificate is valid for 6 h or more";
    if (found_.unasked) return skip(title, "there is no connection");
    if (!found_.certificate_ends) return skip(title, "a unix socket needs none");
    const auto left = *found_.certificate_ends - found_.answered_at;
    const std::string detail = "expires " + relative(*found_.certificate_ends, found_.answered_at);
    if (left <= milliseconds(0)) return find(Verdict::Failed, title, detail, "HF5003");
    if (left < kCertificateLeft) return find(Verdict::Warning, title, detail, "HF5030");
    pass(title, detail);
  }

  // The controller read its clock some time between our two readings.
  void clocks() {
    const char* title = "clocks agree within 2 s";
    if (!has_status(title)) return;
    const WallTime theirs = to_wall(found_.status->now());
    milliseconds apart{0};
    if (theirs < found_.asked_at) apart = found_.asked_at - theirs;
    if (theirs > found_.answered_at) apart = theirs - found_.answered_at;
    const std::string detail = fmt::format("{} ms apart", apart.count());
    if (apart > kClocksMayDiffer) return find(Verdict::Failed, title, detail, "HF5031");
    pass(title, detail);
  }

  void health() {
    const char* title = "the controller is healthy";
    if (!has_status(title)) return;
    const v1::GetStatusResponse& status = *found_.status;
    const std::string word(to_word(status.state()));
    if (status.state() == v1::HEALTH_STATE_OK || (is_passive_half(found_) && is_only_passive())) {
      pass(title, fmt::format("{} {}, up {}{}", status.controller(), status.version(),
                              age(to_wall(status.started()), to_wall(status.now())),
                              is_passive_half(found_) ? ", the passive half" : ""));
    } else {
      find(verdict_of(status.state()), title, word, "HF1030");
    }
    for (const v1::ComponentStatus& component : status.components()) judge_component(component);
  }

  // A passive half is not ready for clients, and some of it waits until it is active.
  bool waits_as_passive(const v1::ComponentStatus& one) const {
    return is_passive_half(found_) &&
           (one.name() == "pair" || one.state() == v1::HEALTH_STATE_STARTING);
  }
  bool is_only_passive() const {
    return std::ranges::all_of(found_.status->components(), [&](const v1::ComponentStatus& one) {
      return one.state() == v1::HEALTH_STATE_OK || waits_as_passive(one);
    });
  }

  // What it needs its store for, as opposed to what it knows of itself.
  void answers_questions() {
    const char* title = "the controller serves";
    if (!has_status(title)) return;
    if (is_passive_half(found_)) {
      return skip(title,
                  fmt::format("{} does: ask there for the rest", found_.pair->peer().name()));
    }
    const Status& answer = found_.authority.status();
    if (!absl::IsUnavailable(answer) && !absl::IsDeadlineExceeded(answer)) {
      return pass(title, "answers questions");
    }
    const Failure failure = explain(answer, found_.asked);
    results_.push_back(
        {category_, title, Verdict::Failed, failure.message, failure.code, failure.next});
  }

  void judge_component(const v1::ComponentStatus& component) {
    const std::string title = fmt::format("component {} works", component.name());
    const std::string word(to_word(component.state()));
    if (component.state() == v1::HEALTH_STATE_OK) return pass(title, word);
    if (waits_as_passive(component)) {
      return pass(title, fmt::format("passive; {} is active", found_.pair->peer().name()));
    }
    find(verdict_of(component.state()), title,
         component.reason().empty() ? word : fmt::format("{}: {}", word, component.reason()),
         component.code().empty() ? "HF1030" : component.code());
  }

  void authority_exists() {
    const char* title = "the cluster has an authority";
    if (!has_status(title)) return;
    if (found_.status->cluster().empty()) return find(Verdict::Failed, title, "none", "HF5013");
    pass(title, found_.status->cluster());
  }

  void authority_life() {
    const char* title = "the authority is valid for 30 days or more";
    if (!has_status(title)) return;
    if (!found_.status->has_authority_expires()) return skip(title, "there is no authority");
    const WallTime ends = to_wall(found_.status->authority_expires());
    const std::string detail = "expires " + relative(ends, found_.answered_at);
    const auto left = ends - found_.answered_at;
    if (left <= milliseconds(0)) return find(Verdict::Failed, title, detail, "HF5032");
    if (left < kAuthorityLeft) return find(Verdict::Warning, title, detail, "HF5032");
    pass(title, detail);
  }

  void rotation() {
    const char* title = "no rotation stands still";
    if (!found_.authority.ok()) return skip(title, "the authority is not known");
    const v1::Authority& authority = *found_.authority;
    if (!is_rotating(authority.phase())) return pass(title, "none under way");
    const WallTime since = to_wall(authority.phase_since());
    const std::string detail = fmt::format("in phase {} for {}", to_word(authority.phase()),
                                           age(since, found_.answered_at));
    if (found_.answered_at - since > kPhaseMayTake) {
      return find(Verdict::Warning, title, detail, "HF5033");
    }
    pass(title, detail);
  }

  void tokens() {
    const char* title = "every token expires";
    if (absl::IsPermissionDenied(found_.tokens.status())) {
      return skip(title, "you may not list tokens");
    }
    if (!found_.tokens.ok()) return skip(title, "the tokens are not known");
    std::vector<std::string> endless;
    for (const v1::Resource& token : *found_.tokens) {
      if (!token.metadata().has_expires()) endless.push_back(token.metadata().name());
    }
    if (endless.empty()) return pass(title, fmt::format("{} tokens", found_.tokens->size()));
    find(
        Verdict::Warning, title,
        fmt::format("{} of {} never: {}", endless.size(), found_.tokens->size(),
                    fmt::join(endless.begin(),
                              endless.begin() + std::min<ptrdiff_t>(3, std::ssize(endless)), ", ")),
        "HF5034");
  }

  void online(const std::string& kind, std::string_view code) {
    const auto known = resource::kind_named(kind);
    const std::string title =
        fmt::format("all {} are online", known ? std::string(resource::info(*known).plural) : kind);
    if (!has_status(title.c_str())) return;
    if (is_passive_half(found_)) return skip(title, "the active half counts them");
    for (const v1::NodeCount& count : found_.status->nodes()) {
      if (count.kind() != kind) continue;
      const uint64_t all = count.online() + count.offline();
      const std::string detail = fmt::format("{}/{}", count.online(), all);
      if (count.offline() == 0) return pass(title, detail);
      // Some are missed, all is an outage.
      return find(count.online() == 0 ? Verdict::Failed : Verdict::Warning, title, detail, code);
    }
    pass(title, "none has joined");
  }

  // The first three, "web: no agent exposes it; db: ...".
  static std::string some_of(const std::vector<std::string>& all) {
    const auto end = all.begin() + std::min<ptrdiff_t>(3, std::ssize(all));
    return fmt::format("{}{}", fmt::join(all.begin(), end, "; "), end == all.end() ? "" : "; ...");
  }

  void proxies_take_tunnels() {
    const char* title = "some proxy takes tunnels";
    if (!found_.proxies.ok()) return skip(title, "the proxies are not known");
    size_t takers = 0;
    for (const v1::Resource& proxy : *found_.proxies) {
      const bool there = !proxy.proxy().announcement().has_offline_since();
      takers += there && !proxy.proxy().draining() ? 1 : 0;
    }
    const std::string detail = fmt::format("{}/{}", takers, found_.proxies->size());
    const bool needed = found_.agents.ok() && !found_.agents->empty();
    if (takers == 0 && needed) return find(Verdict::Failed, title, detail, "HF1043");
    pass(title, takers == 0 ? "none has joined, nor has an agent" : detail);
  }

  void agents_have_tunnels() {
    const char* title = "every agent that is online has a tunnel";
    if (!found_.agents.ok()) return skip(title, "the agents are not known");
    std::vector<std::string> without;
    size_t online = 0;
    for (const v1::Resource& agent : *found_.agents) {
      if (agent.agent().announcement().has_offline_since()) continue;
      online += 1;
      if (is_reachable(agent)) continue;
      const std::string& reason = agent.agent().reason();
      without.push_back(agent.metadata().name() + (reason.empty() ? "" : ": " + reason));
    }
    if (without.empty()) return pass(title, fmt::format("{} agents", online));
    find(without.size() == online ? Verdict::Failed : Verdict::Warning, title, some_of(without),
         "HF1044");
  }

  void services_are_carried() {
    const char* title = "every service is carried by an agent";
    if (!found_.services.ok() || !found_.agents.ok()) return skip(title, "they are not known");
    std::vector<std::string> without;
    for (const v1::Resource& service : *found_.services) {
      const std::string why = why_not_carried(service, *found_.agents);
      if (!why.empty()) without.push_back(service.metadata().name() + ": " + why);
    }
    if (without.empty()) return pass(title, fmt::format("{} services", found_.services->size()));
    find(Verdict::Warning, title, some_of(without), "HF1045");
  }

  // As agents that are there say: who is away is another matter.
  void services_are_healthy() {
    const char* title = "what agents expose is healthy";
    if (!found_.agents.ok()) return skip(title, "the agents are not known");
    std::vector<std::string> sick;
    size_t all = 0;
    for (const v1::Resource& agent : *found_.agents) {
      if (agent.agent().announcement().has_offline_since()) continue;
      for (const v1::ExposedService& service : agent.agent().services()) {
        all += 1;
        if (service.healthy()) continue;
        sick.push_back(fmt::format("{} on {}{}{}", service.service(), agent.metadata().name(),
                                   service.reason().empty() ? "" : ": ", service.reason()));
      }
    }
    if (sick.empty()) return pass(title, fmt::format("{} of {}", all, all));
    find(Verdict::Warning, title, some_of(sick), "HF1046");
  }

  // A capacity under a name that was mistyped limits nothing, and nobody would notice.
  void capacities_have_zones() {
    const char* title = "every zone that has a capacity is known";
    if (!found_.services.ok() || !found_.agents.ok() || !found_.proxies.ok() ||
        !found_.zone_maps.ok()) {
      return skip(title, "they are not known");
    }
    ZoneFacts facts{.proxies = *found_.proxies, .agents = *found_.agents};
    for (const v1::Resource& map : *found_.zone_maps) facts.map = map.zone_map();
    const v1::ZoneList zones = zones_of(facts);
    std::vector<std::string> strange;
    size_t all = 0;
    for (const v1::Resource& service : *found_.services) {
      const auto& unordered = service.service().zone_capacity();
      const std::map<std::string, uint64_t> capacities(unordered.begin(), unordered.end());
      for (const auto& [zone, places] : capacities) {
        all += 1;
        if (!has_zone(zones, zone)) strange.push_back(service.metadata().name() + ": " + zone);
      }
    }
    if (!strange.empty()) return find(Verdict::Warning, title, some_of(strange), "HF1047");
    pass(title, fmt::format("{} {}", all, all == 1 ? "capacity" : "capacities"));
  }

  // Off is nothing wrong; off though it was asked for is.
  void agents_count() {
    const char* title = "agents count connections in the kernel";
    if (!found_.agents.ok()) return skip(title, "the agents are not known");
    std::vector<std::string> without;
    std::string code;
    size_t asked = 0;
    uint64_t services = 0;
    for (const v1::Resource& agent : *found_.agents) {
      const bool away = agent.agent().announcement().has_offline_since();
      if (away || !agent.agent().has_tracking()) continue;
      const v1::AgentTracking& tracking = agent.agent().tracking();
      asked += 1;
      services += tracking.services();
      if (tracking.code().empty()) continue;
      if (code.empty()) code = tracking.code();
      without.push_back(
          fmt::format("{}: {} {}", agent.metadata().name(), tracking.code(), tracking.reason()));
    }
    if (asked == 0) return skip(title, "no agent is told to (agent.tracking.enabled)");
    if (!without.empty()) return find(Verdict::Warning, title, some_of(without), code);
    pass(title, fmt::format("{} of {}, {} virtual IPs and ports", asked, asked, services));
  }

  const Findings& found_;
  std::string category_;
  std::vector<CheckResult> results_;
};

}  // namespace

std::vector<std::string_view> check_categories() {
  return {"connection", "controller", "pair", "identity", "presence", "reach", "tracking"};
}

std::vector<CheckResult> judge(const Findings& findings) {
  return Judge(findings).run();
}

CheckCounts count(const std::vector<CheckResult>& results) {
  CheckCounts counts;
  for (const CheckResult& result : results) {
    switch (result.verdict) {
      case Verdict::Passed:
        counts.passed += 1;
        break;
      case Verdict::Warning:
        counts.warnings += 1;
        break;
      case Verdict::Failed:
        counts.failed += 1;
        break;
      case Verdict::Skipped:
        counts.skipped += 1;
    }
  }
  return counts;
}

Exit exit_of(const CheckCounts& counts, bool fail_on_warning) {
  if (counts.failed > 0) return Exit::Failed;
  return counts.warnings > 0 && fail_on_warning ? Exit::Warned : Exit::Ok;
}

}  // namespace holdfast::cli
