#include "integration/etcd_cluster.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "etcd/etcd.grpc.pb.h"
#include "support/eventually.h"
#include "support/free_ports.h"

namespace holdfast::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

void set_deadline(grpc::ClientContext& context, milliseconds timeout) {
  context.set_deadline(std::chrono::system_clock::now() + timeout);
}

}  // namespace

EtcdCluster::EtcdCluster(const EtcdClusterOptions& options) : options_(options) {
  const std::vector<uint16_t> ports = free_ports(options.members * 2);
  std::vector<std::string> peers;
  for (size_t i = 0; i < options.members; ++i) {
    peers.push_back(fmt::format("m{}=http://127.0.0.1:{}", i, ports[2 * i + 1]));
  }
  for (size_t i = 0; i < options.members; ++i) {
    const std::string client_url = fmt::format("{}://127.0.0.1:{}", options.scheme, ports[2 * i]);
    const std::string peer_url = fmt::format("http://127.0.0.1:{}", ports[2 * i + 1]);
    Member& member = members_.emplace_back();
    member.endpoint = fmt::format("127.0.0.1:{}", ports[2 * i]);
    member.arguments = {"etcd",
                        fmt::format("--name=m{}", i),
                        "--data-dir=" + folder_.file(fmt::format("m{}", i)),
                        "--listen-client-urls=" + client_url,
                        "--advertise-client-urls=" + client_url,
                        "--listen-peer-urls=" + peer_url,
                        "--initial-advertise-peer-urls=" + peer_url,
                        fmt::format("--initial-cluster={}", fmt::join(peers, ",")),
                        "--logger=zap",
                        "--log-outputs=stderr"};
    member.arguments.insert(member.arguments.end(), options.arguments.begin(),
                            options.arguments.end());
  }
  for (size_t i = 0; i < members_.size(); ++i) restart(i);
  for (size_t i = 0; i < members_.size(); ++i) wait_until_ready(i);
}

std::vector<std::string> EtcdCluster::endpoints() const {
  std::vector<std::string> result;
  for (const Member& member : members_) result.push_back(member.endpoint);
  return result;
}

void EtcdCluster::restart(size_t member) {
  members_[member].process = std::make_unique<ChildProcess>(
      ChildOptions{.arguments = members_[member].arguments, .output_file = folder_.file("log")});
}

void EtcdCluster::wait_until_ready(size_t member) const {
  HF_CHECK(eventually([&] { return answers(members_[member]); }, seconds(30)),
           "etcd is ready within 30 seconds");
}

bool EtcdCluster::answers(const Member& member) const {
  const auto channel = rpc::make_channel(member.endpoint, {.tls = options_.tls});
  const auto kv = etcdserverpb::KV::NewStub(channel);
  etcdserverpb::RangeRequest request;
  request.set_key("ready?");
  etcdserverpb::RangeResponse response;
  grpc::ClientContext context;
  context.AddMetadata("hasleader", "true");
  set_deadline(context, milliseconds(1000));
  const grpc::Status status = kv->Range(&context, request, &response);
  // A member that wants to know who is asking is ready as well.
  return status.ok() || status.error_code() == grpc::StatusCode::INVALID_ARGUMENT;
}

// A member names the leader by its id, so the leader is the one that names itself.
bool EtcdCluster::leads(const Member& member) const {
  const auto channel = rpc::make_channel(member.endpoint, {.tls = options_.tls});
  const auto maintenance = etcdserverpb::Maintenance::NewStub(channel);
  etcdserverpb::StatusResponse response;
  grpc::ClientContext context;
  set_deadline(context, milliseconds(1000));
  const grpc::Status status = maintenance->Status(&context, {}, &response);
  return status.ok() && response.leader() != 0 &&
         response.leader() == response.header().member_id();
}

size_t EtcdCluster::leader() const {
  auto found = members_.end();
  const auto look = [&] {
    found = std::ranges::find_if(members_, [&](const Member& member) { return leads(member); });
    return found != members_.end();
  };
  HF_CHECK(eventually(look, seconds(20)), "an etcd cluster has a leader within 20 seconds");
  return static_cast<size_t>(found - members_.begin());
}

}  // namespace holdfast::test
