// Somebody else writes to the same etcd, under Holdfast's prefix: what is theirs is passed over,
// and what is Holdfast's is read as if it were alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "integration/etcd_cluster.h"
#include "store/etcd_store.h"
#include "store/store_contract_fixture.h"
#include "support/eventually.h"

namespace holdfast::store {
namespace {

using namespace std::chrono_literals;
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

  test::EtcdCluster cluster_{
      {.arguments = {"--experimental-watch-progress-notify-interval=100ms"}}};
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

TEST_F(EtcdForeign, AQuietWatchOutlivesTheCompactionOfTheirHistory) {
  const Revision start = run(io_, store_.range({}))->revision;
  const auto watch = *run(io_, store_.watch(KeyRange{}, start));
  std::optional<Result<std::vector<Change>>> seen;
  asio::co_spawn(io_, watch->next(),
                 [&seen](std::exception_ptr, auto changes) { seen = std::move(changes); });
  for (int i = 0; i < 5; ++i) write_theirs("/b");
  const auto moved_on = [&] {
    io_.restart();
    io_.run_for(20ms);
    return watch->reached() == start + 5;
  };
  ASSERT_TRUE(test::eventually(moved_on, 20s));

  ASSERT_TRUE(run(io_, store_.compact(watch->reached())).ok());
  cluster_.kill(0);
  cluster_.restart(0);
  cluster_.wait_until_ready(0);
  write_ours("/g");
  // While only gRPC is at work the loop has nothing to do, and stops.
  const auto has_come = [&] {
    io_.restart();
    io_.run_for(20ms);
    return seen.has_value();
  };
  ASSERT_TRUE(test::eventually(has_come, 20s));

  ASSERT_TRUE(seen->ok()) << seen->status();
  EXPECT_THAT(texts(**seen, start), ElementsAre("put /g=ours@6"));
}

}  // namespace
}  // namespace holdfast::store
