#include "e2e/etcd_pair.h"

#include <fstream>
#include <iterator>

#include "base/check.h"
#include "support/eventually.h"
#include "support/http_client.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

Arguments arguments_of(const std::string& name, const LoadBalancer& relay,
                       const Arguments& arguments) {
  Arguments all = {"--store", "etcd", "--etcd-endpoint", relay.address(), "--name", name};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return all;
}

std::vector<Backend> both_and(const std::string& a, const std::string& b,
                              const std::vector<Backend>& strangers) {
  std::vector<Backend> all = {{.name = "a", .address = a}, {.name = "b", .address = b}};
  all.insert(all.end(), strangers.begin(), strangers.end());
  return all;
}

}  // namespace

int Half::readiness() const {
  return HttpClient(controller.health_server()).ask("GET /readyz").status;
}

EtcdPair::EtcdPair(const EtcdPairOptions& options)
    : relay_a_({{.name = "etcd", .address = etcd_.endpoints().front()}}),
      relay_b_({{.name = "etcd", .address = etcd_.endpoints().front()}}),
      a_(arguments_of("a", relay_a_, options.arguments)),
      b_(arguments_of("b", relay_b_, options.arguments)),
      balancer_(std::make_unique<LoadBalancer>(
          both_and(a_.tcp_server(), b_.tcp_server(), options.strangers))) {
  mend();
}

void EtcdPair::mend() {
  for (const Half& half : {a(), b()}) {
    half.relay.thaw();
    half.controller.thaw();
    if (!half.controller.running()) half.controller.start();
  }
  for (const Half& half : {a(), b()}) {
    HF_CHECK(eventually([&] { return half.ready(); }, 30s),
             half.name + " is ready: " + half.controller.log());
    const auto serves = [&] {
      const auto channel = rpc::make_channel(half.controller.tcp_server(), {.tls = admin()});
      return channel->WaitForConnected(std::chrono::system_clock::now() + 500ms);
    };
    HF_CHECK(eventually(serves, 20s), half.name + " serves: " + half.controller.log());
  }
}

std::string EtcdPair::server_identity() const {
  std::ifstream file(a_.data_dir() + "/identity.pem");
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace holdfast::test
