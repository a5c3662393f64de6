// What `holdfast check` makes of a pair of controllers: whether one half serves, whether the other
// could take over, and what waits for an operator. Pure, as check_rules.cc.
#include <fmt/format.h>

#include <algorithm>

#include "base/reason.h"
#include "cli/check_rules.h"
#include "cli/reasons.h"

namespace holdfast::cli {
namespace {

constexpr const char* kCategory = "pair";
constexpr const char* kServes = "one half of the pair serves";
constexpr const char* kWhole = "the pair is whole";
constexpr const char* kDecided = "no divergence waits for a decision";

// Who is active as far as the half knows that answered; null: nobody it hears of.
const v1::PairHalf* active_of(const v1::PairStatus& pair) {
  if (pair.self().state() == v1::PAIR_STATE_ACTIVE) return &pair.self();
  const bool peer = pair.peer().state() == v1::PAIR_STATE_ACTIVE && pair.peer().connected();
  return peer ? &pair.peer() : nullptr;
}

CheckResult found(Verdict verdict, const char* title, std::string detail, std::string_view code) {
  const ReasonInfo* reason = find_reason(code);
  return {.category = kCategory,
          .title = title,
          .verdict = verdict,
          .detail = std::move(detail),
          .code = std::string(code),
          .next = reason != nullptr ? std::string(reason->next) : ""};
}

CheckResult serves(const v1::PairStatus& pair) {
  const v1::PairHalf* active = active_of(pair);
  if (active == nullptr) return found(Verdict::Failed, kServes, "nobody is active", "HF4105");
  if (!pair.not_serving().empty()) {
    const Reason why = split_reason(pair.not_serving());
    return found(Verdict::Failed, kServes,
                 fmt::format("{} is active and does not: {}", active->name(), why.message),
                 why.code.empty() ? "HF4107" : why.code);
  }
  return {kCategory, kServes, Verdict::Passed,
          fmt::format("{}, epoch {}", active->name(), active->epoch())};
}

// Each problem of either half once, by its code; the half that `status` is of first.
std::vector<std::string> problems_of(const Findings& findings) {
  std::vector<std::string> problems;
  std::vector<std::string> codes;
  for (const auto* pair : {&findings.pair, &findings.other_half}) {
    if (!pair->ok()) continue;
    for (const std::string& problem : (*pair)->problems()) {
      std::string code(split_reason(problem).code);
      if (std::ranges::find(codes, code) != codes.end()) continue;
      codes.push_back(std::move(code));
      problems.push_back(problem);
    }
  }
  return problems;
}

// Not whole is a warning while clients are served; in mode sync no write is taken meanwhile.
void judge_whole(const Findings& findings, std::vector<CheckResult>& results) {
  const v1::PairStatus& pair = *findings.pair;
  const bool stopped = active_of(pair) == nullptr || !pair.not_serving().empty() ||
                       (pair.mode() == v1::PAIR_MODE_SYNC && !pair.in_sync());
  const Verdict verdict = stopped ? Verdict::Failed : Verdict::Warning;
  const std::vector<std::string> problems = problems_of(findings);
  for (const std::string& problem : problems) {
    const Reason reason = split_reason(problem);
    results.push_back(found(verdict, kWhole, std::string(reason.message),
                            reason.code.empty() ? "HF1030" : reason.code));
  }
  if (!problems.empty()) return;
  const bool asked_active = pair.self().state() == v1::PAIR_STATE_ACTIVE;
  if (asked_active && !pair.in_sync()) {
    results.push_back(found(
        verdict, kWhole,
        fmt::format("{} is not in sync: it lacks {} revisions", pair.peer().name(), pair.lag()),
        "HF4109"));
    return;
  }
  const std::string other = pair.peer().name().empty() ? "the other half" : pair.peer().name();
  results.push_back({kCategory, kWhole, Verdict::Passed,
                     fmt::format("{} and {}, in sync", pair.self().name(), other)});
}

// A file is on the disk of the half whose history lost.
CheckResult decided(const Findings& findings) {
  const bool both = findings.other_half.ok();
  const uint32_t waiting =
      findings.pair->quarantined() + (both ? findings.other_half->quarantined() : 0);
  if (waiting > 0) {
    return found(Verdict::Warning, kDecided, fmt::format("{} waiting", waiting), "HF1048");
  }
  return {
      kCategory, kDecided, Verdict::Passed,
      both ? "none on either half"
           : fmt::format("none on {}; the other half was not asked", findings.pair->self().name())};
}

}  // namespace

bool is_passive_half(const Findings& findings) {
  if (!findings.pair.ok() || !findings.pair->paired()) return false;
  const v1::PairHalf* active = active_of(*findings.pair);
  return active != nullptr && active != &findings.pair->self();
}

bool serves_nobody(const Findings& findings) {
  if (!findings.pair.ok() || !findings.pair->paired()) return false;
  return active_of(*findings.pair) == nullptr || !findings.pair->not_serving().empty();
}

std::vector<CheckResult> judge_pair(const Findings& findings) {
  if (!findings.pair.ok()) {
    const bool known = findings.status.ok();
    return {{kCategory, kServes, Verdict::Skipped,
             known ? "the controller does not say whether it is half of a pair"
                   : "the controller's status is not known"}};
  }
  if (!findings.pair->paired()) {
    return {{kCategory, kServes, Verdict::Skipped, "the controller is no half of a pair"}};
  }
  std::vector<CheckResult> results = {serves(*findings.pair)};
  judge_whole(findings, results);
  results.push_back(decided(findings));
  return results;
}

}  // namespace holdfast::cli
