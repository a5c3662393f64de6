// What a proxy is there for: tunnel::ProxyService and ingress::IngressService, told of the cache,
// the identity and the configuration.
//
//   agents, peers ─► ProxyService ◄─ dial() ─ IngressService ◄─ clients
//                         └── drain: announce, then close_ingress ──┘
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/cache_reads.h"
#include "app/node_part.h"
#include "app/proxy_load.h"
#include "ingress/ingress_service.h"
#include "ingress/listener_spec.h"
#include "net/task_group.h"
#include "tunnel/proxy_service.h"

namespace holdfast::app {

struct ProxyPartOptions {
  config::ProxySection config{};
  std::string version{};
  uint64_t seed = 1;
};

class ProxyPart final : public NodePart {
 public:
  // kInvalidArgument if the configuration is of no use.
  static Result<std::unique_ptr<NodePart>> make(const PartWorld& world,
                                                const ProxyPartOptions& options);

  Result<std::vector<std::string>> listen() override;
  void start() override;
  // Drains first, for as long as proxy.drain_timeout lets it.
  asio::awaitable<void> stop() override;
  void hurry() override { proxy_.drain_now(); }

  void set_identity(const node::HeldIdentity& held) override;
  Status set_config(const config::Config& config) override;
  void follow_cache() override;

  void describe(v1::Resource& entry) const override;
  v1::GetTunnelsResponse tunnels() const override;
  Status drain(const v1::DrainRequest& request) override;
  v1::DrainStatus drain_status() override;
  std::vector<ComponentReport> reports() const override;
  std::optional<node::LoadSource> load_source() override { return load_source_of(proxy_.places()); }
  void update_metrics() override;

 private:
  ProxyPart(const PartWorld& world, const ProxyPartOptions& options,
            std::vector<ingress::ListenerSpec> listeners);
  tunnel::ProxyService::Asks asks();
  ingress::Lookups lookups();
  Status use_identity(const node::HeldIdentity& held);
  asio::awaitable<net::HttpResponse> answer(const ingress::PublicCall& call);
  Result<net::HttpResponse> answer_allowed(const ingress::PublicCall& call);
  asio::awaitable<void> close_ingress();
  asio::awaitable<void> run_drain(Duration timeout);
  asio::awaitable<void> let_followers_hear();
  std::string advertised(const std::string& address) const;

  const Clock& clock_;
  const PartWorld world_;
  ProxyPartOptions options_;
  std::vector<ingress::ListenerSpec> listeners_;
  std::string node_;
  std::string zone_;
  std::string advertise_host_;
  cache::View view_;
  CacheMark proxies_mark_;
  CacheMark settings_mark_;
  CacheMark services_mark_;
  CacheMark zones_mark_;
  tunnel::ProxyLoad load_;
  tunnel::ProxyService::Addresses addresses_;
  std::string public_address_;
  Status identity_status_;
  bool started_ = false;
  size_t noted_tunnels_ = 0;
  std::optional<Time> asked_;  // of the drain, last
  bool told_end_ = false;
  tunnel::LinkBuffers buffers_;
  tunnel::ProxyService proxy_;
  ingress::IngressService ingress_;
  ProxyLoadMetrics load_metrics_;
  net::TaskGroup tasks_;
};

}  // namespace holdfast::app
