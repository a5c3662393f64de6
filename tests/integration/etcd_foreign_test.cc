// Somebody else writes to the same etcd, under Holdfast's prefix: what is theirs is passed over,
// and what is Holdfast's is read as if it were alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "integration/etcd_cluster.h"
#include "store/etcd_store.h"
#include "store/store_contract_fixture.h"

namespace holdfast::store {
namespace {

using testing::ElementsAre;

class EtcdForeign : public testing::Test {
 protected:
  EtcdForeign() {
    for (const char* key : {"/a", "/c", "/e"}) write_ours(key);
    for (const char* key : {"/", "/b", "/d", "/f"}) write_theirs(key);
  }

  void write_ours(const std::string& key) {
    std::vector<Operation> operations(1, put(key, "ours"));
    const auto revision = run(io_, store_.commit(std::move(operations)));
    ASSERT_TRUE(revision.ok()) << revision.status();
  }
  void write_theirs(const std::string& key) {
    const auto kv = etcdserverpb::KV::NewStub(rpc::make_channel(cluster_.endpoints().front(), {}));
    etcdserverpb::PutRequest put;
    put.set_key(EtcdKeys(options_.prefix).stored(key));
    put.set_value("theirs");
    etcdserverpb::PutResponse response;
    grpc::ClientContext context;
    const grpc::Status status = kv->Put(&context, put, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
  }

  test::EtcdCluster cluster_{{}};
  EtcdOptions options_{.endpoints = cluster_.endpoints()};
  SystemClock clock_;
  asio::io_context io_;
  EtcdStore store_{io_.get_executor(), options_, clock_};
};

TEST_F(EtcdForeign, ARangePassesOverTheirValues) {
  const auto all = run(io_, store_.range(request(prefix_range("/"))));

  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_THAT(keys_of(all->items), ElementsAre("/a", "/c", "/e"));
}

TEST_F(EtcdForeign, TheirValuesDoNotCountForTheLimit) {
  const auto first = run(io_, store_.range(request(prefix_range("/"), 2)));

  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_THAT(keys_of(first->items), ElementsAre("/a", "/c"));
  EXPECT_TRUE(first->more);
}

}  // namespace
}  // namespace holdfast::store
