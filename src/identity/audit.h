// The audit's lines: JSON, one per change and per refused request, each with the hash of the one
// before, so that a missing or altered line shows. Makes text only; audit_service writes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace holdfast::identity {

struct AuditRecord {
  std::string actor;   // "user/alice", "agent/edge-07", "local", "nobody"
  std::string source;  // where from: "10.0.0.7:40112", "unix"
  std::string verb;    // "create", "join", "login", "watch", …
  std::string object;  // "service/web", "token", …; may be empty
  bool allowed = false;
  std::string code;       // HFnnnn of a refusal
  uint64_t repeated = 1;  // the same refusal so often since the last line
};

// Of a field; what is longer is cut and ends in "…". Bytes that are not UTF-8 are written as \\xNN.
inline constexpr size_t kMaxAuditFieldBytes = 256;
// Of a line that is read.
inline constexpr size_t kMaxAuditLineBytes = 16'384;

class AuditChain {
 public:
  // `last_line` of an existing file, without its newline; empty to begin. kDataLoss if it is not
  // a line of an audit.
  static Result<AuditChain> resume(std::string_view last_line);
  // {"seq":7,"prev":"sha256:…","ts":"…","actor":"user/alice",…} and a newline.
  std::string next_line(const AuditRecord& record, WallTime now);
  uint64_t seq() const { return seq_; }  // of the last line

 private:
  uint64_t seq_ = 0;
  std::string previous_hash_;
};

// Checks a whole file's text; kDataLoss names the first line that does not follow from the one
// before. The first line may be any: older ones may have been moved away. A cut at the end shows
// only against a hash kept elsewhere.
Status verify_audit(std::string_view text);

}  // namespace holdfast::identity
