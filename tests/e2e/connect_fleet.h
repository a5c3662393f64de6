// Proxies, an agent with services, and users who logged in: real processes, for tests of how people
// and programs reach a service.
#pragma once

#include <memory>
#include <string>

#include "e2e/tunnel_app.h"
#include "e2e/tunnel_fleet.h"

namespace holdfast::test {

class ConnectFleet {
 public:
  // Proxies p-1 (and p-2 if there are two), agent a-1 that carries `web`, and a service `idle` that
  // nobody carries. ann is an operator, bob a viewer.
  explicit ConnectFleet(int proxies = 1);

  TunnelFleet& fleet() { return fleet_; }
  // `holdfast ARGUMENTS...` as that user, from a profile of its own.
  ProgramOutcome as(const std::string& user, const Arguments& arguments,
                    const std::string& input = "");
  Arguments command(const std::string& user, const Arguments& arguments) const;
  std::string profile(const std::string& user) const { return folder_.file(user); }
  std::string public_address(const std::string& proxy) const;
  // Waits until the user gets through that proxy: its cache has everything by then.
  bool reaches(const std::string& user, const std::string& proxy);
  std::string logs() const;
  std::string file(const std::string& name) const { return folder_.file(name); }

 private:
  void log_in(const std::string& user, const std::string& role);

  TempDir folder_;
  TunnelTestApp app_;
  TunnelFleet fleet_;
};

// A request to `web` as it is written to standard input.
std::string page_request(const std::string& path);

// `holdfast connect --listen` or `--socks`, running; ends with it.
class ConnectPort {
 public:
  ConnectPort(const ConnectFleet& fleet, const std::string& user, Arguments arguments);
  // Where it listens; empty if it does not within ten seconds.
  const std::string& address() const { return address_; }
  std::string errors() const;

 private:
  TempDir folder_;
  ChildProcess process_;
  std::string address_;
};

}  // namespace holdfast::test
