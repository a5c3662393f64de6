// A real haproxy on loopback that hands TCP connections on, as a plain balancer in front of
// controllers does: in turn, without health checks. With one server behind it, it is a relay: a way
// to hang one peer's link by freezing the process in the middle.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "support/child_process.h"
#include "support/temp_dir.h"

namespace holdfast::test {

struct Backend {
  std::string name;
  std::string address;    // HOST:PORT
  bool takes_new = true;  // set_takes_new() may change it
};

class LoadBalancer {
 public:
  // Listens when it returns.
  explicit LoadBalancer(const std::vector<Backend>& backends);

  const std::string& address() const { return address_; }
  uint16_t port() const { return port_; }

  void freeze() { process_->freeze(); }
  void thaw() { process_->thaw(); }

  // Whether new connections may go to this backend; those it has stay.
  void set_takes_new(const std::string& backend, bool takes);
  // Which backend each connection from 127.0.0.1 leads to, by the client's port.
  std::map<uint16_t, std::string> backend_of_port() const;
  // Where the connections of this process lead to that are open now: how many to each backend.
  std::map<std::string, size_t> own_connections() const;

 private:
  void write_configuration(const std::vector<Backend>& backends) const;
  std::string ask(const std::string& command) const;

  TempDir folder_;
  uint16_t port_ = 0;
  std::string address_;
  std::unique_ptr<ChildProcess> process_;
};

// The local ports of this process' TCP connections over IPv4 and IPv6 that lead to this port and
// are open both ways.
std::vector<uint16_t> own_ports_towards(uint16_t port);

}  // namespace holdfast::test
