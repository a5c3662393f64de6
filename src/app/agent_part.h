// What an agent is there for: tunnel::AgentService, told of the cache, the identity, the
// configuration, and whether its services work. And, if wanted, the counting in the kernel.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/agent_checks.h"
#include "app/agent_probes.h"
#include "app/agent_tracking.h"
#include "app/cache_reads.h"
#include "app/node_part.h"
#include "tunnel/agent_service.h"

namespace holdfast::app {

struct AgentPartOptions {
  config::AgentSection config{};
  config::ProbeSection probe{};  // of the handler inside it
  std::string version{};
  uint64_t seed = 1;
};

class AgentPart final : public NodePart {
 public:
  // kInvalidArgument if the configuration or the identity is of no use.
  static Result<std::unique_ptr<NodePart>> make(const PartWorld& world,
                                                const AgentPartOptions& options);

  Result<std::vector<std::string>> listen() override { return probes_.listen(); }
  void start() override;
  asio::awaitable<void> stop() override;
  void hurry() override { agent_->hurry(); }

  void set_identity(const node::HeldIdentity& held) override;
  Status set_config(const config::Config& config) override {
    return use(config.agent, config.probe);
  }
  void follow_cache() override;

  void describe(v1::Resource& entry) const override;
  v1::GetTunnelsResponse tunnels() const override;
  Status drain(const v1::DrainRequest& request) override;
  v1::DrainStatus drain_status() override;
  std::vector<ComponentReport> reports() const override;
  std::optional<node::LoadSource> load_source() override { return tracking_.load_source(); }
  void update_metrics() override;

 private:
  AgentPart(const PartWorld& world, std::unique_ptr<tunnel::AgentService> agent,
            const AgentPartOptions& options);
  // Services, their checks, labels, and how long it takes to stop.
  Status use(const config::AgentSection& config, const config::ProbeSection& probe);
  // What the checks say now goes to the proxies and the controllers.
  void tell_health();
  ComponentReport tunnels_report() const;
  void count_dials();
  void count_pool();
  void show_links();
  void count_streams();

  metrics::Registry& registry_;
  std::function<void()> changed_;
  cache::View view_;
  std::string node_;
  std::string zone_;
  v1::Exposed exposed_;
  CacheMark proxies_mark_;
  CacheMark settings_mark_;
  bool started_ = false;
  AgentChecks checks_;
  AgentProbes probes_;
  AgentTracking tracking_;
  std::unique_ptr<tunnel::AgentService> agent_;
};

}  // namespace holdfast::app
