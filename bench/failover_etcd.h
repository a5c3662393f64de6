// Three members of Debian's etcd with their defaults, and a client that writes to whichever of them
// answers: what our pair is measured beside.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "etcd/etcd.grpc.pb.h"
#include "integration/etcd_cluster.h"
#include "steady_writer.h"

namespace holdfast::bench {

class FailoverEtcd {
 public:
  FailoverEtcd();

  Gaps kill_leader(int rounds);
  Gaps freeze_leader(int rounds);

 private:
  Status write();
  void wait_until_all_are_ready();

  test::EtcdCluster cluster_;
  std::vector<std::unique_ptr<etcdserverpb::KV::Stub>> members_;
  size_t in_use_ = 0;
  uint64_t written_ = 0;
  SteadyWriter writer_;
};

}  // namespace holdfast::bench
