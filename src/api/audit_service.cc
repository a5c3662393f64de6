#include "api/audit_service.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/log.h"
#include "base/reason.h"

namespace holdfast::api {
namespace {

constexpr uint64_t kLongestLine = 8 << 10;

Status failed(std::string_view what, const std::string& path) {
  return coded(absl::StatusCode::kUnavailable, "HF1107",
               fmt::format("the audit log {}: {}: {}", path, what, std::strerror(errno)));
}

// The last whole line of a file; what follows it is a torn write.
struct Tail {
  std::string line;
  uint64_t end = 0;   // of that line, with its newline
  uint64_t size = 0;  // of the file
};
Result<Tail> read_tail(int file, const std::string& path) {
  struct stat facts{};
  if (::fstat(file, &facts) != 0) return failed("stat", path);
  const uint64_t size = static_cast<uint64_t>(facts.st_size);
  const uint64_t from = size > 2 * kLongestLine ? size - 2 * kLongestLine : 0;
  std::string text(size - from, '\0');
  const ssize_t got = ::pread(file, text.data(), text.size(), static_cast<off_t>(from));
  if (got < 0) return failed("reading", path);
  text.resize(static_cast<size_t>(got));
  const size_t newline = text.rfind('\n');
  if (newline == std::string::npos) return Tail{.line = "", .end = 0, .size = size};
  const size_t before = newline == 0 ? std::string::npos : text.rfind('\n', newline - 1);
  const size_t begin = before == std::string::npos ? 0 : before + 1;
  return Tail{.line = text.substr(begin, newline - begin), .end = from + newline + 1, .size = size};
}

// Whether each of its lines follows from the one before. Reads all of it: once, at start.
Status verify_file(int file, uint64_t end, const std::string& path) {
  std::string text(end, '\0');
  for (size_t got = 0; got < text.size();) {
    const ssize_t more =
        ::pread(file, text.data() + got, text.size() - got, static_cast<off_t>(got));
    if (more <= 0) return failed("reading", path);
    got += static_cast<size_t>(more);
  }
  return identity::verify_audit(text);
}

std::string audit_key(const identity::AuditRecord& record) {
  return fmt::format("{}\n{}\n{}\n{}", record.actor,
                     record.source.substr(0, record.source.rfind(':')), record.verb, record.code);
}

}  // namespace

AuditService::AuditService(AuditOptions options, const Clock& clock, identity::AuditChain chain)
    : options_(std::move(options)), clock_(clock), chain_(std::move(chain)) {}

AuditService::~AuditService() {
  for (const auto& [key, waiting] : collapsed_) {
    if (waiting.record.repeated > 0) write(waiting.record);
  }
  if (file_ >= 0) ::close(file_);
}

Result<std::unique_ptr<AuditService>> AuditService::open(AuditOptions options, const Clock& clock) {
  TRY(identity::AuditChain fresh, identity::AuditChain::resume(""));
  std::unique_ptr<AuditService> audit(
      new AuditService(std::move(options), clock, std::move(fresh)));
  if (audit->options_.path.empty()) return audit;
  TRY_OK(audit->open_file());
  return audit;
}

Status AuditService::open_file() {
  const std::string& path = options_.path;
  file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file_ < 0) return failed("opening", path);
  TRY(const Tail tail, read_tail(file_, path));
  Result<identity::AuditChain> chain = identity::AuditChain::resume(tail.line);
  const Status whole = chain.ok() ? verify_file(file_, tail.end, path) : chain.status();
  if (!whole.ok()) {
    // Not ours, or damaged: evidence either way. It is kept under another name.
    const std::string aside = fmt::format("{}.damaged-{}", path, to_rfc3339(clock_.wall_now()));
    log::error("the audit log is not whole; it is kept aside",
               {{"kept", aside}, {"code", "HF1104"}, {"why", std::string(whole.message())}});
    if (std::rename(path.c_str(), aside.c_str()) != 0) return failed("moving aside", path);
    ::close(file_);
    file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file_ < 0) return failed("opening", path);
    bytes_ = 0;
    return absl::OkStatus();
  }
  chain_ = *std::move(chain);
  const bool torn = tail.end < tail.size;
  if (torn && ::ftruncate(file_, static_cast<off_t>(tail.end)) != 0) return failed("cutting", path);
  bytes_ = tail.end;
  return absl::OkStatus();
}

void AuditService::change(identity::AuditRecord record) {
  write(record);
}

void AuditService::refusal(identity::AuditRecord record) {
  stats_.refusals += 1;
  const std::string key = audit_key(record);
  const auto found = collapsed_.find(key);
  if (found != collapsed_.end()) {
    found->second.record.repeated += 1;
    return;
  }
  write(record);
  if (collapsed_.size() >= options_.max_collapsed) return;
  record.repeated = 0;
  collapsed_.emplace(key, Collapsed{std::move(record), clock_.now() + options_.collapse});
}

void AuditService::on_tick() {
  const Time now = clock_.now();
  // Whether lines can be written again is found out by writing that some were lost.
  if (!status_.ok()) {
    write({.actor = "controller", .verb = "lose-audit-lines", .repeated = stats_.lost});
  }
  for (auto at = collapsed_.begin(); at != collapsed_.end();) {
    if (at->second.due > now) {
      ++at;
      continue;
    }
    if (at->second.record.repeated > 0) write(at->second.record);
    at = collapsed_.erase(at);
  }
}

void AuditService::write(const identity::AuditRecord& record) {
  if (options_.path.empty()) return;
  Status status = absl::OkStatus();
  if (bytes_ >= options_.max_bytes) status = rotate();
  if (status.ok()) {
    // Only a line that was written goes into the chain.
    identity::AuditChain next = chain_;
    status = append(next.next_line(record, clock_.wall_now()));
    if (status.ok()) chain_ = std::move(next);
  }
  stats_.lines += status.ok() ? 1 : 0;
  stats_.lost += status.ok() ? 0 : 1;
  if (!status.ok() && status_.ok())
    log::error("an audit line is lost", {{"why", status.ToString()}});
  status_ = std::move(status);
}

Status AuditService::append(const std::string& line) {
  const ssize_t wrote = ::write(file_, line.data(), line.size());
  if (wrote == static_cast<ssize_t>(line.size())) {
    bytes_ += line.size();
    return absl::OkStatus();
  }
  if (wrote >= 0) errno = ENOSPC;
  const Status status = failed("writing", options_.path);
  // No half lines.
  if (wrote > 0 && ::ftruncate(file_, static_cast<off_t>(bytes_)) != 0) {
    log::error("half a line stays in the audit log", {{"path", options_.path}});
  }
  return status;
}

Status AuditService::rotate() {
  const auto numbered = [&](int n) { return fmt::format("{}.{}", options_.path, n); };
  for (int n = options_.keep_files - 1; n >= 1; --n) {
    if (::access(numbered(n).c_str(), F_OK) != 0) continue;
    if (std::rename(numbered(n).c_str(), numbered(n + 1).c_str()) != 0) {
      return failed("rotating", options_.path);
    }
  }
  if (std::rename(options_.path.c_str(), numbered(1).c_str()) != 0) {
    return failed("rotating", options_.path);
  }
  const int fresh = ::open(options_.path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fresh < 0) return failed("opening", options_.path);
  ::close(file_);
  file_ = fresh;
  bytes_ = 0;
  return absl::OkStatus();
}

}  // namespace holdfast::api
