// The store contract on real etcd clusters of one and of three members.
#include "integration/etcd_harness.h"

namespace holdfast::store {
namespace {

// One cluster serves all tests of a suite; it dies with the process.
template <size_t kMembers>
std::unique_ptr<StoreHarness> on_cluster() {
  static test::EtcdCluster cluster(
      {.members = kMembers, .arguments = {"--experimental-watch-progress-notify-interval=100ms"}});
  return std::make_unique<test::EtcdHarness>(cluster);
}

INSTANTIATE_TEST_SUITE_P(OneMember, StoreContract, testing::Values(on_cluster<1>));
INSTANTIATE_TEST_SUITE_P(ThreeMembers, StoreContract, testing::Values(on_cluster<3>));

}  // namespace
}  // namespace holdfast::store
