// What a controller is told when it starts, as plain values. The members mirror the dotted keys of
// the file: `presence.agent_ttl` is config.presence.agent_ttl. Defaults, limits and meanings are in
// keys.cc, the one table of keys; load.h fills this.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "holdfast/v1/node.pb.h"

namespace holdfast::config {

enum class LogFormat : uint8_t { Auto, Json, Logfmt };
enum class StoreType : uint8_t { Sqlite, Etcd, Memory };

struct LogConfig {
  std::string level;  // a word that log::parse_level() takes
  LogFormat format = LogFormat::Auto;
};

struct HttpConfig {
  std::string listen;         // HTTPS API; empty: off
  std::string health_listen;  // plain; health and metrics only; empty: off
};

struct ControllerSection {
  std::string name;
  std::string zone;
  std::string data_dir;
  std::vector<std::string> listen;  // IP:PORT, gRPC over mTLS; port 0 picks one
  std::string advertise;            // HOST:PORT; empty: see advertised_address()
  std::vector<std::string> hosts;   // DNS names and IP addresses of its certificate
  HttpConfig http;
};

struct EtcdConfig {
  std::vector<std::string> endpoints;
  std::string ca;
  std::string certificate;
  std::string key;
  std::string username;
  std::string password_file;
  std::string prefix;
};

struct StoreConfig {
  StoreType type = StoreType::Sqlite;
  EtcdConfig etcd;
};

struct IdentityConfig {
  Duration node_certificate_ttl{0};
  Duration user_certificate_ttl{0};
  Duration token_ttl{0};
};

struct HealthConfig {
  Duration recovery_window{0};
  Duration heartbeat_write_timeout{0};
};

struct PresenceConfig {
  Duration controller_ttl{0};
  Duration proxy_ttl{0};
  Duration agent_ttl{0};
  Duration agent_max_ttl{0};
  Duration keep_offline{0};
};

struct LimitsConfig {
  uint64_t message_bytes = 0;
  uint64_t streams_per_connection = 0;
  uint64_t calls_in_flight = 0;
  uint64_t requests_per_second = 0;
  uint64_t request_burst = 0;
  uint64_t connections = 0;
};

struct AuditConfig {
  uint64_t max_bytes = 0;
  uint64_t keep_files = 0;
};

// Filled by load(); on its own it is not a usable configuration.
struct ControllerConfig {
  uint64_t version = 0;
  LogConfig log;
  ControllerSection controller;
  StoreConfig store;
  IdentityConfig identity;
  HealthConfig health;
  PresenceConfig presence;
  LimitsConfig limits;
  AuditConfig audit;
  v1::ServiceConfig grpc_service_config;
};

// Where others reach this controller, given the port it really has: controller.advertise, or the
// first of controller.hosts (else the first listen address) with that port.
std::string advertised_address(const ControllerConfig& config, uint16_t port);

}  // namespace holdfast::config
