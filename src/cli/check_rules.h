// What `holdfast check` looks at, and what it makes of it. Pure: what was found comes in.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "cli/console.h"
#include "cli/errors.h"
#include "holdfast/v1/identity.pb.h"
#include "holdfast/v1/node.pb.h"
#include "holdfast/v1/pair.pb.h"

namespace holdfast::cli {

struct CheckResult {
  std::string category{};
  std::string title{};
  Verdict verdict = Verdict::Passed;
  std::string detail{};  // beside the title
  std::string code{};    // unless it passed
  std::string next{};
};

// Everything that was found out before judging.
struct Findings {
  std::string server{};
  // How the controller could not even be asked: a bad address, no profile.
  std::optional<Failure> unasked{};
  // When our certificate ends; absent on a unix socket.
  std::optional<WallTime> certificate_ends{};
  Result<v1::GetStatusResponse> status = absl::UnavailableError("not asked");
  Asked asked{};
  // As the half says that `status` is of; and the other one, if that was asked too. Older
  // controllers know of no pairs.
  Result<v1::PairStatus> pair = absl::UnavailableError("not asked");
  Result<v1::PairStatus> other_half = absl::UnavailableError("not asked");
  // Of this machine, around the call for the status.
  WallTime asked_at{};
  WallTime answered_at{};
  Result<v1::Authority> authority = absl::UnavailableError("not asked");
  Result<std::vector<v1::Resource>> tokens = absl::UnavailableError("not asked");
  Result<std::vector<v1::Resource>> services = absl::UnavailableError("not asked");
  Result<std::vector<v1::Resource>> agents = absl::UnavailableError("not asked");
  Result<std::vector<v1::Resource>> proxies = absl::UnavailableError("not asked");
  Result<std::vector<v1::Resource>> zone_maps = absl::UnavailableError("not asked");
};

// Whether the half that answered serves nobody, as the other does: nothing else was asked then.
bool is_passive_half(const Findings& findings);
// Whether it is half of a pair of which neither half serves.
bool serves_nobody(const Findings& findings);
// Of the category "pair".
std::vector<CheckResult> judge_pair(const Findings& findings);

// "connection", "controller", "pair", "identity", "presence", "reach", "tracking": in this order.
std::vector<std::string_view> check_categories();
std::vector<CheckResult> judge(const Findings& findings);

struct CheckCounts {
  size_t passed = 0;
  size_t warnings = 0;
  size_t failed = 0;
  size_t skipped = 0;
};
CheckCounts count(const std::vector<CheckResult>& results);
// Ok, Failed if any failed, or Warned if warnings are to fail it.
Exit exit_of(const CheckCounts& counts, bool fail_on_warning);

// In the style of the house; `problems_only` leaves out what passed.
std::string render_checks(const std::vector<CheckResult>& results, const Console& console,
                          bool problems_only);
std::string checks_json(const std::vector<CheckResult>& results);

}  // namespace holdfast::cli
