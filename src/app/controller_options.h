// What a controller needs to know to run, part by part; made from the configuration.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/audit_service.h"
#include "api/gate.h"
#include "api/grpc_server.h"
#include "api/identity_service.h"
#include "api/load_stats_service.h"
#include "api/presence_service.h"
#include "api/resource_service.h"
#include "api/watch_streams.h"
#include "base/result.h"
#include "config/config.h"
#include "events/fan_out.h"
#include "ha/pair_service.h"
#include "health/health.h"
#include "store/etcd_options.h"

namespace holdfast::app {

using config::StoreType;

struct ControllerOptions {
  std::string name = "controller";
  std::string zone{};
  std::string version{};
  std::string data_dir{};
  StoreType store = StoreType::Sqlite;
  store::EtcdOptions etcd{};
  std::vector<std::string> listen{};  // with TLS, besides the unix socket in data_dir
  std::string advertise{};            // HOST:PORT; empty: the first of `listen`
  std::vector<std::string> hosts{};   // in the controller's certificate
  std::string http_listen{};          // HTTPS; empty: none
  std::string health_listen{};        // plain, health and metrics only; empty: none
  v1::ServiceConfig service_config{};
  events::FanOutOptions fan_out{};
  api::WatchStreamsOptions watches{};
  api::ResourceLimits resource_limits{};
  api::GateOptions gate{};
  api::AuditOptions audit{};
  api::IdentityOptions identity{};
  api::PresenceOptions presence{};
  api::GrpcServerOptions grpc{};
  size_t max_http_connections = 8'192;
  health::HealthOptions health{};
  std::optional<api::LoadStatsOptions> load_stats{};  // none: nobody else is told about load
  std::optional<ha::PairOptions> pair{};              // none: this controller is on its own
  Duration expiry_period = std::chrono::seconds(1);
};

// Reads the files that the configuration names. kNotFound and others name the file.
Result<ControllerOptions> controller_options(const config::ControllerConfig& config);

}  // namespace holdfast::app
