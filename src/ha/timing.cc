#include "ha/timing.h"

#include <fmt/format.h>

#include <string_view>

#include "base/reason.h"

namespace holdfast::ha {
namespace {

constexpr Duration kShortest = std::chrono::milliseconds(10);
constexpr Duration kLongest = std::chrono::hours(1);

struct Value {
  std::string_view key;
  Duration value;
};

// To the millisecond: what is refused for less is not said to be equal.
std::string exact(Duration duration) {
  const auto whole = std::chrono::ceil<std::chrono::milliseconds>(duration);
  return whole.count() % 1000 == 0 ? to_short_string(whole) : fmt::format("{}ms", whole.count());
}

Status refuse(std::string_view what) {
  return coded(absl::StatusCode::kInvalidArgument, "HF4110", what);
}

// `large` must be at least `least`, which is made of `small`.
Status check_relation(const Value& large, const Value& small, Duration least,
                      std::string_view rule) {
  if (large.value >= least) return absl::OkStatus();
  return refuse(fmt::format("{} is {} and {} is {}: {}, so {} must be at least {}", large.key,
                            exact(large.value), small.key, exact(small.value), rule, large.key,
                            exact(least)));
}

}  // namespace

Status check(const Timing& timing) {
  const Value beat{"ha.beat", timing.beat};
  const Value lease{"ha.lease", timing.lease};
  const Value drop{"ha.drop", timing.drop};
  const Value take{"ha.take", timing.take};
  const Value recovery{"ha.recovery", timing.recovery};
  for (const Value& one : {beat, lease, drop, take, Value{"ha.skew", timing.skew},
                           Value{"ha.witness_timeout", timing.witness_timeout},
                           Value{"ha.vote_patience", timing.vote_patience}}) {
    if (one.value < kShortest || one.value > kLongest) {
      return refuse(fmt::format("{} is {}: it must be between {} and {}", one.key, exact(one.value),
                                exact(kShortest), exact(kLongest)));
    }
  }
  // A hundredth for clocks that run apart, and a moment so that "before" is not "at the same time".
  const Duration held = timing.lease + timing.lease / 100 + std::chrono::milliseconds(1);
  TRY_OK(check_relation(lease, beat, 5 * timing.beat,
                        "a lease must outlast a few lost beats (5 of them)"));
  TRY_OK(check_relation(drop, beat, 5 * timing.beat,
                        "a half must not be left behind for a few lost beats (5 of them)"));
  TRY_OK(check_relation(take, lease, held + 2 * timing.beat,
                        "who takes over waits until the lease and two beats are over"));
  TRY_OK(check_relation(drop, lease, held,
                        "who is the active half by the record leaves the other behind only when "
                        "the other's lease is over"));
  TRY_OK(check_relation(take, drop, timing.drop + 2 * timing.beat,
                        "when only the link is cut the active half goes on, two beats earlier"));
  TRY_OK(check_relation({"ha.vote_patience", timing.vote_patience}, take, timing.take + timing.skew,
                        "whoever asks as the active half dies waits until the other has taken over "
                        "(ha.take and ha.skew)"));
  if (timing.recovery == Duration::zero()) return absl::OkStatus();
  return check_relation(recovery, take, 10 * timing.take,
                        "control goes back only after a time without trouble (0s: never)");
}

}  // namespace holdfast::ha
