// A pair on loopback: two real controllers and a witness that joined with tokens, as an operator
// makes them. No network of its own is needed; what needs one is in pair_test.cc.
#pragma once

#include <memory>
#include <string>

#include "e2e/cluster_process.h"
#include "holdfast/v1/pair.grpc.pb.h"
#include "support/child_process.h"
#include "support/temp_dir.h"

namespace holdfast::test {

// Makes a token at the controller and joins with it, as `role`/`name`, into `data_dir`.
struct Joining {
  std::string role;
  std::string name;
  std::string data_dir;
};
void join(const ControllerProcess& at, const Joining& as);

struct LoopbackOptions {
  std::string mode;
  std::string witness_role =
      "witness";     // or a role of nodes, that keeps the record beside its work
  Arguments more{};  // for both controllers
};

class LoopbackPair {
 public:
  // Both run when it returns, the primary active and the backup in sync with it.
  explicit LoopbackPair(LoopbackOptions options);
  explicit LoopbackPair(const std::string& mode) : LoopbackPair(LoopbackOptions{.mode = mode}) {}

  ClusterProcess& primary() { return primary_; }
  ControllerProcess& backup() { return backup_; }
  ControllerProcess& half(bool is_primary) { return is_primary ? primary_ : backup_; }
  // Again, after it was killed.
  void start_primary() { primary_.start(arguments_of("primary", backup_.tcp_server())); }
  void start_backup() { backup_.start(arguments_of("backup", primary_.tcp_server())); }
  void start_witness();
  ChildProcess& witness() { return *witness_; }
  std::string record_file() const { return folder_.file("witness/witness.record"); }
  std::string log_of_witness() const;

  // What a half says, by its unix socket; nothing if it does not answer.
  static v1::PairStatus status_of(const ControllerProcess& half);
  // Waits.
  static bool becomes(const ControllerProcess& half, v1::PairState state);
  bool becomes_in_sync(const ControllerProcess& active);
  std::string describe() const;

 private:
  Arguments arguments_of(const std::string& role, const std::string& peer) const;

  const LoopbackOptions options_;
  TempDir folder_;
  ClusterProcess primary_;
  ControllerProcess backup_;
  uint16_t witness_port_ = 0;
  std::unique_ptr<ChildProcess> witness_;
};

}  // namespace holdfast::test
