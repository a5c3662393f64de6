// A controller, proxies and agents that joined it, real processes with zones and ports of their
// own, for tests and benchmarks of tunnels. Aborts with the log of whatever does not come up.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "e2e/controller_process.h"
#include "support/child_process.h"
#include "support/temp_dir.h"

namespace holdfast::test {

struct ProxyPorts {
  uint16_t tunnel = 0;
  uint16_t peer = 0;
  uint16_t open = 0;  // the public one: CONNECT, drain
  std::vector<uint16_t> ingress{};
};

class TunnelFleet {
 public:
  // `settings` are pairs for --set of the controller.
  explicit TunnelFleet(const Arguments& settings = {});

  ControllerProcess& controller() { return controller_; }
  ProgramOutcome cli(const Arguments& arguments, const std::string& input = "") {
    return controller_.cli(arguments, input);
  }
  // Aborts unless it succeeds.
  void apply(const std::string& yaml);

  // A proxy whose ingress is a port for each of these services ("web", "db/5432").
  void add_proxy(const std::string& name, const std::string& zone,
                 const std::vector<std::string>& services, const Arguments& more = {});
  // An agent that exposes these ("web=127.0.0.1:8080").
  void add_agent(const std::string& name, const std::string& zone,
                 const std::vector<std::string>& services, const Arguments& more = {});
  // With the arguments it was added with, and `more`.
  void start(const std::string& name, const Arguments& more = {});
  ChildProcess& process(const std::string& name) { return *nodes_.at(name).process; }
  // Replaces the handle of a process that goes on beside its successor.
  std::unique_ptr<ChildProcess> release(const std::string& name);
  const ProxyPorts& ports(const std::string& proxy) const { return nodes_.at(proxy).ports; }
  std::vector<std::string> names(const std::string& role) const;
  std::string data_dir(const std::string& name) const { return folder_.file(name); }
  std::string log(const std::string& name) const;
  const TempDir& folder() const { return folder_; }
  // A joined identity's folder without a process, for programs that are agents themselves.
  void join(const std::string& role, const std::string& name, const std::string& zone);

 private:
  struct Node {
    std::string role;
    Arguments arguments;
    ProxyPorts ports;
    std::unique_ptr<ChildProcess> process;
  };

  TempDir folder_;
  ControllerProcess controller_;
  std::string pin_;
  std::map<std::string, Node> nodes_;
};

}  // namespace holdfast::test
