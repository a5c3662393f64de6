#include "failover_etcd.h"

#include "base/check.h"
#include "rpc/call.h"
#include "rpc/channel.h"
#include "support/eventually.h"

namespace holdfast::bench {
namespace {

using namespace std::chrono_literals;

std::vector<std::unique_ptr<etcdserverpb::KV::Stub>> connect(
    const std::vector<std::string>& endpoints) {
  std::vector<std::unique_ptr<etcdserverpb::KV::Stub>> stubs;
  for (const std::string& endpoint : endpoints) {
    stubs.push_back(etcdserverpb::KV::NewStub(
        rpc::make_channel(endpoint, {.longest_reconnect_wait = std::chrono::milliseconds(200)})));
  }
  return stubs;
}

}  // namespace

FailoverEtcd::FailoverEtcd()
    : cluster_({.members = 3}),
      members_(connect(cluster_.endpoints())),
      writer_([this] { return write(); }) {
  writer_.expect_steady(100);
}

// At the member that answered last; a member that does not within 300 ms, or cannot, is left for
// the next at once. A client that waits longer, as etcd's own do by default, only adds to the time.
Status FailoverEtcd::write() {
  grpc::ClientContext context;
  rpc::apply({.timeout = 300ms}, context);
  etcdserverpb::PutRequest request;
  request.set_key("/bench/" + std::to_string(written_++ % 100));
  request.set_value(std::string(200, 'v'));
  etcdserverpb::PutResponse response;
  const grpc::Status status = members_[in_use_]->Put(&context, request, &response);
  if (!status.ok()) in_use_ = (in_use_ + 1) % members_.size();
  return rpc::from_grpc(status);
}

void FailoverEtcd::wait_until_all_are_ready() {
  for (size_t i = 0; i < cluster_.size(); ++i) cluster_.wait_until_ready(i);
  writer_.expect_steady(100);
}

Gaps FailoverEtcd::kill_leader(int rounds) {
  Gaps gaps;
  for (int round = 0; round < rounds; ++round) {
    const size_t leader = cluster_.leader();
    gaps.add(writer_.time_without([&] { cluster_.kill(leader); }));
    cluster_.restart(leader);
    wait_until_all_are_ready();
  }
  return gaps;
}

Gaps FailoverEtcd::freeze_leader(int rounds) {
  Gaps gaps;
  for (int round = 0; round < rounds; ++round) {
    const size_t leader = cluster_.leader();
    gaps.add(writer_.time_without([&] { cluster_.freeze(leader); }));
    cluster_.thaw(leader);
    wait_until_all_are_ready();
  }
  return gaps;
}

}  // namespace holdfast::bench
