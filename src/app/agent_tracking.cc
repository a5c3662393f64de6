#include "app/agent_tracking.h"

#include <utility>

#include "app/track_config.h"
#include "base/bytes.h"
#include "base/reason.h"
#include "identity/identity.h"

namespace holdfast::app {
namespace {

using resource::Kind;

// Of what is announced.
constexpr size_t kMostReasonBytes = 400;

std::string short_reason(std::string_view reason) {
  if (reason.size() <= kMostReasonBytes) return std::string(reason);
  const std::string safe = in_quotes(reason, kMostReasonBytes);
  return safe.substr(1, safe.size() - 2);
}

// This agent, and the proxies that are there; other agents are not known here.
size_t known_holders(cache::View& view) {
  size_t holders = 1;
  const auto proxies = view.read<Kind::Proxy>();
  if (!proxies) return holders;
  proxies.for_each([&](const auto& entry) {
    holders += entry.body.announcement().has_offline_since() ? 0 : 1;
    return true;
  });
  return holders;
}

}  // namespace

AgentTracking::AgentTracking(const PartWorld& world, const config::TrackingConfig& config,
                             uint64_t boot)
    : zone_(world.held.who.zone), holders_(config.holders) {
  if (!config.enabled) return;
  track::TrackOptions options = track_options(config);
  options.reports = {.holder = identity::to_string(world.held.who), .zone = zone_, .boot = boot};
  tracking_ = std::make_unique<track::TrackService>(
      track::TrackService::Parts{
          .loop = world.loop, .clock = world.clock, .registry = world.registry},
      std::move(options));
  tracking_->on_change(world.changed);
  tracking_->on_due(world.load_due);
}

void AgentTracking::use(const config::TrackingConfig& config) {
  holders_ = config.holders;
  if (!tracking_) return;
  tracking_->set_times(track_options(config).times);
  tracking_->set_settings(track_settings(config));
}

void AgentTracking::follow_cache(cache::View& view) {
  if (!tracking_) return;
  follow_zones(view);
  follow_services(view);
  tracking_->set_holders(holders_ > 0 ? holders_ : known_holders(view));
}

void AgentTracking::follow_zones(cache::View& view) {
  const auto zones = view.read<Kind::ZoneMap>();
  if (!zones_mark_.moved(zones)) return;
  const auto found = zones.find("default");
  tracking_->set_zones(track::make_zones(found ? found->body : v1::ZoneMap(), zone_));
}

void AgentTracking::follow_services(cache::View& view) {
  const auto services = view.read<Kind::Service>();
  if (!services_mark_.moved(services)) return;
  std::vector<track::NamedService> named;
  services.for_each([&](const auto& entry) {
    if (!entry.body.endpoints().empty()) {
      named.push_back({.name = entry.metadata.name(), .service = entry.body});
    }
    return true;
  });
  tracking_->set_services(std::move(named));
}

void AgentTracking::start() {
  if (tracking_) tracking_->start();
}

asio::awaitable<void> AgentTracking::stop() {
  if (tracking_) co_await tracking_->stop();
}

void AgentTracking::describe(v1::Agent& agent) const {
  if (!tracking_) return;
  v1::AgentTracking& shown = *agent.mutable_tracking();
  shown.set_services(static_cast<uint32_t>(tracking_->service_count()));
  if (tracking_->status().ok()) return;
  const Reason reason = split_reason(tracking_->status());
  shown.set_code(std::string(reason.code));
  shown.set_reason(short_reason(reason.message));
  if (!agent.code().empty()) return;
  agent.set_code(shown.code());
  agent.set_reason(shown.reason());
}

void AgentTracking::add_report(std::vector<ComponentReport>& reports) const {
  if (!tracking_) return;
  reports.push_back({.component = "tracking", .status = tracking_->status(), .is_warning = true});
}

std::optional<node::LoadSource> AgentTracking::load_source() {
  if (!tracking_) return std::nullopt;
  track::TrackService& tracking = *tracking_;
  return node::LoadSource{
      .due = [&tracking] { return tracking.report_due(); },
      .report = [&tracking] { return tracking.report(); },
      .on_grant = [&tracking](const route::LoadGrant& grant) { tracking.on_grant(grant); },
      .on_failed = [&tracking] { tracking.on_report_failed(); }};
}

}  // namespace holdfast::app
