#include "app/controller_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <random>

#include "app/pair_times.h"
#include "rpc/channel.h"

namespace holdfast::app {
namespace {

// What the halves send each other at once is never more: about 1 MiB, and one commit.
constexpr int kPairMessageBytes = 4 << 20;

Result<store::EtcdOptions> etcd_options(const config::EtcdConfig& config) {
  store::EtcdOptions etcd;
  etcd.endpoints = config.endpoints;
  etcd.username = config.username;
  if (!config.prefix.empty()) etcd.prefix = config.prefix;
  if (!config.ca.empty() || !config.certificate.empty()) {
    TRY(etcd.tls,
        rpc::load_tls(
            {.ca = config.ca, .certificate = config.certificate, .private_key = config.key}));
  }
  if (!config.password_file.empty()) {
    std::ifstream file(config.password_file);
    if (!std::getline(file, etcd.password)) {
      return absl::NotFoundError("cannot read " + config.password_file);
    }
  }
  etcd.seed = std::random_device{}();
  return etcd;
}

Result<std::optional<api::LoadStatsOptions>> load_stats_options(
    const config::ControllerConfig& config) {
  std::optional<api::LoadStatsOptions> options;
  const config::LoadConfig& load = config.load;
  if (load.lrs_server.empty()) return options;
  options.emplace();
  options->server = load.lrs_server;
  options->node = "controller/" + config.controller.name;
  options->zone = config.controller.zone;
  options->seed = std::random_device{}();
  if (!load.lrs_ca.empty()) {
    TRY(options->tls,
        rpc::load_tls(
            {.ca = load.lrs_ca, .certificate = load.lrs_certificate, .private_key = load.lrs_key}));
  }
  return options;
}

health::TtlOptions always(Duration ttl) {
  return {.ttl = ttl, .max_ttl = ttl};
}

std::string random_word() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

ha::Mode mode_of(config::HaMode mode) {
  switch (mode) {
    case config::HaMode::BestEffort:
      return ha::Mode::BestEffort;
    case config::HaMode::Sync:
      return ha::Mode::Sync;
    case config::HaMode::Witness:
      break;
  }
  return ha::Mode::Witness;
}

// Requires: the configuration was checked, with check_pair_times().
std::optional<ha::PairOptions> pair_options(const config::ControllerConfig& config) {
  const config::HaConfig& ha = config.ha;
  std::optional<ha::PairOptions> pair;
  if (ha.peer.empty()) return pair;
  const std::string& listen = config.controller.listen.front();
  const int port = std::stoi(listen.substr(listen.rfind(':') + 1));
  pair.emplace();
  pair->half.pair = {
      .me = ha.role == config::HaRole::Primary ? ha::Member::Primary : ha::Member::Backup,
      .mode = mode_of(ha.mode)};
  pair->half.timing = timing_of(ha);
  pair->half.process = random_word();
  pair->half.name = config.controller.name;
  pair->half.address = config::advertised_address(config, static_cast<uint16_t>(port));
  pair->peer.address = ha.peer;
  pair->peer.silence = 2 * ha.take;
  if (ha.mode == config::HaMode::Witness) {
    pair->witness = ha::WitnessLinkOptions{.address = ha.witness, .timeout = ha.witness_timeout};
  }
  return pair;
}

}  // namespace

Result<ControllerOptions> controller_options(const config::ControllerConfig& config) {
  ControllerOptions options;
  options.name = config.controller.name;
  options.zone = config.controller.zone;
  options.data_dir = config.controller.data_dir;
  options.store = config.store.type;
  TRY(options.etcd, etcd_options(config.store.etcd));
  options.listen = config.controller.listen;
  options.advertise = config.controller.advertise;
  options.hosts = config.controller.hosts;
  options.http_listen = config.controller.http.listen;
  options.health_listen = config.controller.http.health_listen;
  options.service_config = config.grpc_service_config;
  options.gate.per_caller.per_second = static_cast<double>(config.limits.requests_per_second);
  options.gate.per_caller.burst = static_cast<double>(config.limits.request_burst);
  options.audit.max_bytes = config.audit.max_bytes;
  options.audit.keep_files = static_cast<int>(config.audit.keep_files);
  options.identity.node_certificate_ttl = config.identity.node_certificate_ttl;
  options.identity.user_certificate_ttl = config.identity.user_certificate_ttl;
  options.identity.token_ttl = config.identity.token_ttl;
  options.presence.controller_ttl = always(config.presence.controller_ttl);
  options.presence.proxy_ttl = always(config.presence.proxy_ttl);
  options.presence.agent_ttl = {.ttl = config.presence.agent_ttl,
                                .max_ttl = config.presence.agent_max_ttl};
  options.presence.keep_offline = config.presence.keep_offline;
  options.presence.heartbeat_write_timeout = config.health.heartbeat_write_timeout;
  options.presence.seed = std::random_device{}();
  options.grpc.max_message_bytes = static_cast<int>(config.limits.message_bytes);
  options.grpc.max_streams_per_connection = static_cast<int>(config.limits.streams_per_connection);
  options.grpc.max_calls_in_flight = config.limits.calls_in_flight;
  options.grpc.max_connections = config.limits.connections;
  options.max_http_connections = config.limits.connections;
  options.health.recovery_window = config.health.recovery_window;
  TRY(options.load_stats, load_stats_options(config));
  options.pair = pair_options(config);
  if (options.pair) {
    // Entries of the history travel in the same way as calls: a smaller limit would stop them.
    options.grpc.max_message_bytes = std::max(options.grpc.max_message_bytes, kPairMessageBytes);
  }
  return options;
}

}  // namespace holdfast::app
