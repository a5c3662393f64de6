// A probe handler as users run it: `holdfastd probe` with its list in the environment or a file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "support/child_process.h"
#include "support/http_client.h"
#include "support/temp_dir.h"

namespace holdfast::test {

struct ProbeHandlerOptions {
  std::vector<std::string> environment{};  // "NAME=VALUE"
  std::vector<std::string> arguments{};    // behind those that the test needs
  int max_descriptors = 0;                 // 0: as many as the test may have
  std::string host = "[::]";               // to listen on
};

class ProbeHandler {
 public:
  // Serves when it returns.
  explicit ProbeHandler(ProbeHandlerOptions options);
  // With this list of probes in the environment.
  explicit ProbeHandler(const std::string& probes)
      : ProbeHandler(ProbeHandlerOptions{.environment = {"HOLDFAST_DATAPLANE_PROBES=" + probes}}) {}

  void start();
  ChildProcess& process() { return *process_; }
  uint16_t port() const { return port_; }
  std::string address() const;  // IPv4
  // On a connection of its own, as the kubelet asks.
  Reply get(const std::string& target) const;
  std::string metrics() const;
  // Of a series by all its text, as `holdfast_http_connections`; 0 if it is not there.
  double metric(const std::string& series) const;
  size_t descriptor_count() const;
  std::string log() const;
  const TempDir& folder() const { return folder_; }

 private:
  ProbeHandlerOptions options_;
  TempDir folder_;
  uint16_t port_ = 0;
  uint16_t health_port_ = 0;
  std::optional<ChildProcess> process_;
};

// The value of a header, as "Holdfast-Probe-Status"; empty if there is none.
std::string header(const Reply& reply, const std::string& name);

// Sockets of this machine in TIME_WAIT whose own port this is.
size_t time_waits_of(uint16_t port);

}  // namespace holdfast::test
