// Writes the audit log: one line per change and per refused request, in a file that is rotated by
// size. A line that cannot be written is counted and reported to health; the request goes on.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "identity/audit.h"

namespace holdfast::api {

struct AuditOptions {
  std::string path;               // empty: nowhere (tests)
  uint64_t max_bytes = 64 << 20;  // then it becomes path.1, …
  int keep_files = 5;
  // The same refusal of the same caller is written once in this time, then with how often it was.
  Duration collapse = std::chrono::seconds(10);
  size_t max_collapsed = 4'096;  // kinds of refusals that wait at once
};

struct AuditStats {
  uint64_t lines = 0;
  uint64_t lost = 0;
  uint64_t refusals = 0;
};

class AuditService {
 public:
  // Reads the end of an existing file. A file that is not an audit is moved aside, not overwritten.
  static Result<std::unique_ptr<AuditService>> open(AuditOptions options, const Clock& clock);
  ~AuditService();

  void change(identity::AuditRecord record);
  void refusal(identity::AuditRecord record);
  // Writes what was collapsed and is due.
  void on_tick();
  // Of the last write.
  const Status& status() const { return status_; }
  const AuditStats& stats() const { return stats_; }

 private:
  AuditService(AuditOptions options, const Clock& clock, identity::AuditChain chain);
  Status open_file();
  void write(const identity::AuditRecord& record);
  Status append(const std::string& line);
  Status rotate();

  struct Collapsed {
    identity::AuditRecord record;
    Time due;
  };

  AuditOptions options_;
  const Clock& clock_;
  identity::AuditChain chain_;
  int file_ = -1;
  uint64_t bytes_ = 0;
  std::map<std::string, Collapsed> collapsed_;
  Status status_;
  AuditStats stats_;
};

}  // namespace holdfast::api
