// What a half had written that the pair did not keep: after a heal two histories may part at a fork
// (only in best-effort, or after an operator forced one half). The losing half keeps what it wrote
// after the fork in a file before it takes a whole copy of the other's.
//
// Nothing in it is lost, but nothing that grants anything comes back by itself. What took rights
// away does: a removed token, role or user is removed again, a disabled user is disabled again.
//
// The file is lines of JSON: one with the header, then one for each change. Values are hexadecimal:
// they hold secrets, and are not shown to operators.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "store/replica.h"

namespace holdfast::ha {

struct QuarantineHeader {
  std::string node{};         // whose history it was
  std::string store_id{};     // and on which disk
  WallTime at{};              // when it was put aside
  store::Revision fork = 0;   // the last revision that both histories have
  store::Head head{};         // where this one ended
  store::Epoch winner = 0;    // the epoch it gave way to
  bool acknowledged = false;  // clients may have been told that these writes happened
  uint64_t entries = 0;       // after the fork, in the file or not
  uint64_t left_out = 0;      // did not fit, or were forgotten before
  bool operator==(const QuarantineHeader&) const = default;
};

struct Quarantine {
  QuarantineHeader header{};
  std::vector<store::Entry> entries{};  // oldest first
  bool operator==(const Quarantine&) const = default;
};

struct QuarantineLimits {
  size_t max_bytes = size_t{64} << 20;  // of the file
  size_t max_line_bytes = size_t{4} << 20;
};

// Whether clients may have been told of what `mine` has after the fork, or nobody knows. They were
// not where all of it is of its last tenure, in which nothing was acknowledged before it was on
// both disks (an epoch above `alone_through`), and nobody forced the winner past what it lacks.
bool may_be_acknowledged(const store::ReplicaFacts& mine, const store::ReplicaFacts& winner,
                         store::Revision fork, store::Epoch alone_through);
// Those of `entries` that are after the fork: header.entries is how many.
Quarantine make_quarantine(QuarantineHeader header, const std::vector<store::Entry>& entries);
// Entries that do not fit are left out, the newest first, and counted.
std::string to_text(const Quarantine& quarantine, const QuarantineLimits& limits = {});
// kDataLoss HF4116 with the line that is not what to_text() writes.
Result<Quarantine> parse_quarantine(std::string_view text, const QuarantineLimits& limits = {});
// Of its first line alone, without the end of line.
Result<QuarantineHeader> parse_quarantine_header(std::string_view line);

// What only who knows the kinds can say of a value.
struct RevocationRules {
  // Whether it says that whom it names may do nothing any more: a disabled user.
  std::function<bool(std::string_view key, std::string_view value)> is_disabled;
  // `value` with that said in it; nothing if it cannot be read.
  std::function<std::optional<std::string>(std::string_view key, const std::string& value)> disable;
};

struct Revocation {
  enum class Type : uint8_t { Remove, Disable };
  Type type = Type::Remove;
  std::string key{};
  bool operator==(const Revocation&) const = default;
};
// In order of key, one for each: Remove if it was removed at any time after the fork.
std::vector<Revocation> revocations(const Quarantine& quarantine, const RevocationRules& rules);
// What to do about one where the key is now `current`: nothing if it is gone or disabled already.
// Conditional on that revision: on kAborted read again.
std::optional<store::Operation> to_operation(const Revocation& revocation,
                                             const std::optional<store::Item>& current,
                                             const RevocationRules& rules);

// One line for each change, without values: "revision 41: put /service/web".
std::vector<std::string> to_lines(const Quarantine& quarantine, size_t max_lines);
// "12 changes of edge-a after revision 40, acknowledged, put aside 2026-11-16T..."
std::string summary(const Quarantine& quarantine);

}  // namespace holdfast::ha
