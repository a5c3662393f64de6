// The store contract on a real etcd cluster that many tests share, each with a prefix of its own.
#pragma once

#include <fmt/format.h>
#include <boost/asio/io_context.hpp>

#include "integration/etcd_cluster.h"
#include "store/etcd_store.h"
#include "store/store_contract.h"
#include "support/eventually.h"

namespace holdfast::test {

class EtcdHarness final : public store::StoreHarness {
 public:
  explicit EtcdHarness(EtcdCluster& cluster)
      : store_(io_.get_executor(), options(cluster), clock_),
        origin_(store::run(io_, store_.range({}))->revision) {}

  boost::asio::io_context& io() override { return io_; }
  store::Store& store() override { return store_; }
  store::Limits limits() const override { return {}; }
  store::Revision origin() const override { return origin_; }
  WallTime now() const override { return clock_.wall_now(); }
  std::chrono::milliseconds short_life() const override { return std::chrono::milliseconds(1200); }
  void pass(WallTime when) override {
    if (when > now()) let_pass(when - now());
  }

 private:
  static store::EtcdOptions options(const EtcdCluster& cluster) {
    static uint64_t tests = 0;
    store::EtcdOptions options;
    options.endpoints = cluster.endpoints();
    options.seed = ++tests;
    options.prefix = fmt::format("/test{}", tests);
    options.leases.width = std::chrono::seconds(1);
    return options;
  }

  boost::asio::io_context io_;
  SystemClock clock_;
  store::EtcdStore store_;
  store::Revision origin_;
};

}  // namespace holdfast::test
