// A real `holdfastd` on a node of its own: one half of a pair, or its witness.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "holdfast/v1/pair.grpc.pb.h"
#include "support/child_process.h"
#include "support/netns.h"
#include "support/temp_dir.h"

namespace holdfast::test {

class PairMember {
 public:
  // `name` is the node's, too. `role` as on the command line of holdfastd.
  PairMember(const OwnNetwork& network, std::string name, std::string role);
  ~PairMember();
  PairMember(const PairMember&) = delete;
  PairMember& operator=(const PairMember&) = delete;

  // What it reads when it is started next.
  void configure(const std::string& yaml) const;
  // Returns when it is started; a controller answers on its unix socket then.
  void start();
  void kill() { process_->kill(); }  // -9
  void freeze() { process_->freeze(); }
  void thaw() { process_->thaw(); }
  void terminate();
  bool running() { return process_ != nullptr && process_->running(); }

  // Its disk becomes a small one. Requires: never started.
  void use_small_disk();
  void fill_disk() const;
  void free_disk() const;
  // Nothing is left on its disk. Requires: not running.
  void lose_data() const;

  const std::string& name() const { return name_; }
  std::string address() const;  // of its listener with TLS
  std::string data_dir() const { return folder_.file("data"); }
  std::string unix_server() const { return "unix:" + data_dir() + "/holdfast.sock"; }
  std::string config_file() const { return folder_.file("holdfast.yaml"); }
  std::string log() const;
  // `holdfast ARGUMENTS...` at its unix socket.
  ProgramOutcome cli(std::vector<std::string> arguments, std::string input = "") const;
  // What it says of the pair.
  Result<v1::PairStatus> status() const;
  // Returns when the other half is active.
  Result<v1::SwitchOverResponse> switch_over() const;
  Result<v1::PromoteResponse> promote() const;

 private:
  bool answers() const;

  const OwnNetwork& network_;
  const std::string name_;
  const std::string role_;
  TempDir folder_;
  bool small_disk_ = false;
  std::unique_ptr<v1::PairControl::Stub> control_;
  std::unique_ptr<ChildProcess> process_;
};

}  // namespace holdfast::test
