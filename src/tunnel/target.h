// What an agent connects to for each service it carries. Whether it may carry a service is the
// cluster's to decide; what it dials is this table's alone, whatever a proxy asks for.
//
//   web=127.0.0.1:8080             SERVICE[/PORT]=TARGET, one line each
//   api/metrics=http://[::1]:9090
//   db=unix:/run/postgresql/.s.PGSQL.5432
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "holdfast/v1/resource.pb.h"
#include "tunnel/exposed_facts.h"

namespace holdfast::tunnel {

inline constexpr size_t kMaxTargets = kMaxExposedServices;
inline constexpr size_t kMaxTargetLineBytes = 1'024;

// Where an application listens: a host and a port, or the path of a unix socket.
struct Target {
  std::string host{};  // a name, or an address without brackets; empty: a unix socket
  uint16_t port = 0;
  std::string unix_path{};
  bool operator==(const Target&) const = default;
};
std::string to_string(const Target& target);  // "[::1]:9090", "unix:/run/app.sock"

class TargetTable {
 public:
  TargetTable() = default;
  // kInvalidArgument HF2120 names the line, what is wrong with it and what would be right: for the
  // first that is wrong or says again what another has said.
  static Result<TargetTable> parse(std::span<const std::string> lines);

  // What to dial; null if the table does not say. `port` is what was asked for, a name or a number;
  // empty: the first. A line without a port is for the service's first one. `known` says what the
  // service's ports are; while it is null, a line without a port that is its service's only one
  // serves whatever port is asked for.
  const Target* find(std::string_view service, std::string_view port,
                     const v1::Service* known) const;

  bool carries(std::string_view service) const { return services_.contains(service); }
  // Each once, in order.
  std::vector<std::string> services() const;
  size_t size() const;
  bool operator==(const TargetTable&) const = default;

 private:
  using Ports = std::map<std::string, Target, std::less<>>;  // "": the first
  Status add(const std::string& line);

  std::map<std::string, Ports, std::less<>> services_;
};

}  // namespace holdfast::tunnel
