// Applications that are not ours, started to be probed: nghttpd, nginx, openssl s_server, and a
// gRPC server in Python. Each listens on loopback when its constructor returns.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "support/child_process.h"
#include "support/temp_dir.h"
#include "support/test_certificate.h"

namespace holdfast::test {

class ForeignApp {
 public:
  // Every "PORT", "DIR", "CERT" and "KEY" in them is replaced: a free port, a folder of its own,
  // and files with a certificate that nobody trusts.
  explicit ForeignApp(std::vector<std::string> arguments,
                      const std::vector<std::pair<std::string, std::string>>& files = {});

  uint16_t port() const { return port_; }
  std::string file(const std::string& name) const { return dir_.file(name); }
  std::string output() const;

 private:
  std::string replaced(std::string text) const;

  TempDir dir_;
  uint16_t port_ = 0;
  std::unique_ptr<ChildProcess> process_;
};

// A gRPC server whose health depends on the service that is asked for, which it writes to the file
// "seen". `kind`: "plain", "tls", or "bare", which has no health service.
std::unique_ptr<ForeignApp> grpc_app(const std::string& kind,
                                     const std::string& host = "127.0.0.1");

}  // namespace holdfast::test
