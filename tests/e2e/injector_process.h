// A real `holdfastd injector` on loopback, with the certificate that `holdfast install k8s` prints.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "integration/fake_api_server.h"
#include "support/child_process.h"
#include "support/temp_dir.h"

namespace holdfast::test {

// What `holdfast install k8s --print` put into the manifests.
struct PrintedPair {
  std::string ca{};
  std::string certificate{};
  std::string key{};
};
ProgramOutcome print_manifests(std::vector<std::string> more = {});
PrintedPair printed_pair();

inline constexpr const char* kInjectorName = "holdfast-injector.holdfast-system.svc";

class InjectorProcess {
 public:
  // Ready when it returns. `more` are arguments of the daemon.
  explicit InjectorProcess(const PrintedPair& pair, std::vector<std::string> more = {});

  // Both files; not at once, as an editor would.
  void write(const std::string& certificate, const std::string& key) const;
  void signal(int number) const;
  int wait(Duration patience) { return process_->wait(patience); }
  bool running() { return process_->running(); }

  std::string file(const std::string& name) const { return folder_.file(name); }
  uint16_t port() const { return port_; }
  std::string https() const;
  std::string http() const;
  std::string url(const std::string& path) const;
  // What an API server knows of it.
  WebhookClientConfig client_config(const std::string& ca) const;
  std::string metrics() const;
  std::string log() const;

 private:
  TempDir folder_;
  uint16_t port_ = 0;
  uint16_t health_port_ = 0;
  std::unique_ptr<ChildProcess> process_;
};

}  // namespace holdfast::test
