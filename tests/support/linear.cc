#include "support/linear.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "support/linear_search.h"

namespace holdfast::test {
namespace {

using Calls = std::vector<RegisterCall>;

double seconds(Time time, Time zero) {
  return std::chrono::duration<double>(time - zero).count();
}

std::string doing(const RegisterCall& call) {
  const std::string value = call.value.empty() ? "nothing" : call.value;
  switch (call.act) {
    case Act::Read:
      return fmt::format("reads {}", call.key) +
             (call.ending == Ending::Ok ? fmt::format(" as {}", value) : "");
    case Act::Write:
      return fmt::format("writes {} = {}", call.key, value);
    case Act::Remove:
      return fmt::format("removes {}", call.key);
    case Act::CompareAndSet:
      return fmt::format("writes {} = {} in place of {}", call.key, value,
                         call.expected.empty() ? "nothing" : call.expected);
  }
  return {};
}

std::string_view word_for(Ending ending) {
  switch (ending) {
    case Ending::Ok:
      return "ok";
    case Ending::Failed:
      return "failed";
    case Ending::Refused:
      return "refused";
    case Ending::Unknown:
      return "unknown";
  }
  return {};
}

// As seen by someone who stops looking at `end`: what has not returned by then is open.
Calls seen_until(const Calls& calls, Time end) {
  Calls seen;
  for (RegisterCall call : calls) {
    if (call.called > end) continue;
    if (call.ending != Ending::Unknown && call.returned > end) call.ending = Ending::Unknown;
    seen.push_back(std::move(call));
  }
  return seen;
}

// Without those that were over before `start`, except those of which one does not know.
Calls seen_from(const Calls& calls, Time start) {
  Calls seen = calls;
  std::erase_if(seen, [&](const RegisterCall& call) {
    return call.ending != Ending::Unknown && call.returned < start;
  });
  return seen;
}

std::vector<Time> moments_of_return(const Calls& calls) {
  std::vector<Time> moments;
  for (const RegisterCall& call : calls) {
    if (call.ending != Ending::Unknown) moments.push_back(call.returned);
  }
  std::ranges::sort(moments);
  return moments;
}

bool broken(const Calls& calls, Beginning beginning, uint64_t steps) {
  return LinearSearch(calls, beginning).run(steps) == Verdict::Kind::Broken;
}

// The first answer after which no order is possible. Requires: `calls` are broken.
Time first_impossible(const Calls& calls, uint64_t steps) {
  const std::vector<Time> moments = moments_of_return(calls);
  const auto possible = [&](Time end) {
    return !broken(seen_until(calls, end), Beginning::Nothing, steps);
  };
  return *std::ranges::partition_point(moments.begin(), moments.end() - 1, possible);
}

struct Window {
  Calls calls;
  bool from_the_beginning = true;
};

// As few as possible before it: so that it is still impossible, whatever was there. The more one
// looks back the less is possible, so it can be halved.
Window shortest_before(const Calls& calls, uint64_t steps) {
  std::vector<Time> moments = moments_of_return(calls);
  std::ranges::reverse(moments);
  const auto possible = [&](Time start) {
    return !broken(seen_from(calls, start), Beginning::Anything, steps);
  };
  size_t reach = 1;
  while (reach < moments.size() && possible(moments[reach - 1])) reach *= 2;
  const auto end = moments.begin() + static_cast<ptrdiff_t>(std::min(reach, moments.size()));
  const auto start = std::partition_point(moments.begin(), end, possible);
  if (start == end) return {.calls = calls};
  return {.calls = seen_from(calls, *start), .from_the_beginning = false};
}

// Writes of unknown end that nobody met explain nothing.
void leave_out_unmet(Calls& calls) {
  std::set<std::string> met;
  for (const RegisterCall& call : calls) {
    met.insert(call.act == Act::Read ? call.value : call.expected);
  }
  std::erase_if(calls, [&](const RegisterCall& call) {
    const bool writes = call.act == Act::Write || call.act == Act::CompareAndSet;
    return call.ending == Ending::Unknown && (!writes || !met.contains(call.value)) &&
           call.act != Act::Remove;
  });
}

std::string explain(const Calls& calls, uint64_t steps) {
  const Time end = first_impossible(calls, steps);
  Window window = shortest_before(seen_until(calls, end), steps);
  Time zero = end;
  for (const RegisterCall& call : calls) zero = std::min(zero, call.called);
  leave_out_unmet(window.calls);
  std::ranges::sort(window.calls, {}, &RegisterCall::called);
  std::string text = fmt::format(
      "{}: no order explains these {} calls{}; the answer at {:.6f} s is the first that cannot "
      "be\n",
      calls.front().key, window.calls.size(),
      window.from_the_beginning ? " from the beginning on" : ", whatever was there before",
      seconds(end, zero));
  for (const RegisterCall& call : window.calls) text += "  " + to_string(call, zero) + "\n";
  return text;
}

}  // namespace

std::string to_string(const RegisterCall& call, Time zero) {
  const bool open = call.ending == Ending::Unknown;
  return fmt::format(
      "{} {} from {:.6f} s{}: {}", call.client, doing(call), seconds(call.called, zero),
      open ? "" : fmt::format(" to {:.6f} s", seconds(call.returned, zero)), word_for(call.ending));
}

Verdict check_history(const std::vector<RegisterCall>& calls, const HistoryLimits& limits) {
  std::map<std::string, Calls> by_key;
  for (const RegisterCall& call : calls) by_key[call.key].push_back(call);
  Verdict verdict;
  for (const auto& [key, own] : by_key) {
    const Verdict::Kind kind = LinearSearch(own, Beginning::Nothing).run(limits.steps);
    if (kind == Verdict::Kind::Linearizable) continue;
    if (kind == Verdict::Kind::Broken) {
      return {.kind = kind, .key = key, .explanation = explain(own, limits.steps)};
    }
    verdict = {.kind = kind,
               .key = key,
               .explanation = fmt::format("{}: {} calls, not decided within {} steps", key,
                                          own.size(), limits.steps)};
  }
  return verdict;
}

}  // namespace holdfast::test
