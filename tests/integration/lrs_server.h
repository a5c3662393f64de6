// A management server of xDS load reporting that is not ours (lrs_server.py), and what it heard.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "support/child_process.h"
#include "support/temp_dir.h"

namespace holdfast::test {

class LrsServer {
 public:
  // What one report says of one zone of a service.
  struct Stats {
    std::string cluster{};
    std::string zone{};
    uint64_t active = 0;
    uint64_t opened = 0;
    uint64_t failed = 0;
    uint64_t milliseconds = 0;
  };

  // Not started yet; nobody else listens where it will.
  LrsServer();

  const std::string& address() const { return address_; }
  // The clusters it asks for ("*": all), and flags; see lrs_server.py. What one heard before stays.
  // It listens when this returns.
  void start(std::vector<std::string> arguments);
  void kill() { process_->kill(); }
  void forget() const;  // what it heard

  std::vector<std::string> lines() const;
  std::set<std::string> nodes() const;  // who introduced themselves
  std::vector<Stats> stats() const;
  // Over all reports; `active` as the last one has it.
  Stats sum(const std::string& cluster, const std::string& zone) const;

 private:
  TempDir dir_;
  uint16_t port_ = 0;
  std::string address_;
  std::optional<ChildProcess> process_;
};

}  // namespace holdfast::test
