// A real etcd cluster on loopback, for one test: its members can be killed, frozen and restarted.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "rpc/channel.h"
#include "support/child_process.h"
#include "support/temp_dir.h"

namespace holdfast::test {

struct EtcdClusterOptions {
  size_t members = 1;
  std::vector<std::string> arguments{};  // more of them, for every member
  std::string scheme = "http";           // of the clients' side
  std::optional<rpc::TlsOptions> tls{};  // how the cluster itself asks whether a member is ready
};

class EtcdCluster {
 public:
  // Starts all members and waits until each answers.
  explicit EtcdCluster(const EtcdClusterOptions& options);

  size_t size() const { return members_.size(); }
  std::vector<std::string> endpoints() const;  // host:port each

  void kill(size_t member) { members_[member].process->kill(); }  // -9
  void freeze(size_t member) { members_[member].process->freeze(); }
  void thaw(size_t member) { members_[member].process->thaw(); }
  // With its data; returns at once.
  void restart(size_t member);
  void wait_until_ready(size_t member) const;
  // Whether it answers and has a leader.
  bool ready(size_t member) const { return answers(members_[member]); }

  // The leader as one of the other members sees it.
  size_t leader() const;

 private:
  struct Member {
    std::string endpoint;
    std::vector<std::string> arguments;
    std::unique_ptr<ChildProcess> process;
  };

  bool answers(const Member& member) const;
  bool leads(const Member& member) const;

  EtcdClusterOptions options_;
  TempDir folder_;
  std::vector<Member> members_;
};

}  // namespace holdfast::test
