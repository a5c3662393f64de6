// Two real controllers of one cluster on one etcd, behind a real balancer. Each reaches etcd over a
// relay of its own, so that one of them can lose its store while the other keeps it.
//
//                          ┌─► controller a ──► relay a ──┐
//    test ──► balancer ────┤                              ├──► etcd
//                          └─► controller b ──► relay b ──┘
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "e2e/cluster_process.h"
#include "e2e/controller_process.h"
#include "e2e/load_balancer.h"
#include "integration/etcd_cluster.h"

namespace holdfast::test {

// One of the two, with its link to the store.
struct Half {
  std::string name;  // also the backend's
  LoadBalancer& relay;
  ControllerProcess& controller;

  void lose_store() const { relay.freeze(); }
  void find_store() const { relay.thaw(); }
  // What its health port says: 200 while it serves; 0 if it does not answer.
  int readiness() const;
  bool ready() const { return readiness() == 200; }
};

struct EtcdPairOptions {
  Arguments arguments{};             // of both controllers
  std::vector<Backend> strangers{};  // stand behind the balancer too
};

class EtcdPair {
 public:
  // Both are ready when it returns.
  explicit EtcdPair(const EtcdPairOptions& options = {});

  Half a() { return {.name = "a", .relay = relay_a_, .controller = a_}; }
  Half b() { return {.name = "b", .relay = relay_b_, .controller = b_}; }
  // "a" or "b".
  Half half(const std::string& name) { return name == "a" ? a() : b(); }
  Half other(const std::string& name) { return name == "a" ? b() : a(); }
  LoadBalancer& balancer() { return *balancer_; }

  // Mends what a test broke: both run and are ready.
  void mend();

  const rpc::TlsOptions& admin() const { return a_.admin(); }
  // Key and certificates of controller a, for a server that pretends to be of the cluster.
  std::string server_identity() const;

 private:
  EtcdCluster etcd_{EtcdClusterOptions{}};
  LoadBalancer relay_a_;
  LoadBalancer relay_b_;
  ClusterProcess a_;
  ControllerProcess b_;
  std::unique_ptr<LoadBalancer> balancer_;
};

}  // namespace holdfast::test
