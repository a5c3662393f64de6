// The servers a benchmark measures, each a real process on loopback with its own folder: one member
// of Debian's etcd with its defaults, and our controller on SQLite. Both speak TLS on TCP with keys
// of the same kind (ECDSA P-256), since that is the only way to reach a controller over a network;
// ours asks for the client's certificate besides, and judges it for every call.
#pragma once

#include <memory>
#include <string>

#include "rpc/channel.h"
#include "support/child_process.h"
#include "support/temp_dir.h"

namespace holdfast::bench {

// Started and answering; killed with the object. Aborts with a message if it does not come up.
class Server {
 public:
  static std::unique_ptr<Server> etcd();
  static std::unique_ptr<Server> holdfast();

  // A connection of its own each time.
  std::shared_ptr<grpc::Channel> connect() const;  // tidy: shared, gRPC's own handle

 private:
  Server() = default;
  void make_own_authority();
  void ask_for_certificate();
  void wait_until_it_answers() const;

  test::TempDir dir_;
  std::string address_;
  rpc::TlsOptions tls_;
  std::unique_ptr<test::ChildProcess> process_;
};

}  // namespace holdfast::bench
