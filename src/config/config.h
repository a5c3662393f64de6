// What a daemon is told when it starts, as plain values. The members mirror the dotted keys of the
// file: `presence.agent_ttl` is config.presence.agent_ttl. Defaults, limits and meanings are in
// keys.cc and the *_keys.h, the one table of keys; load.h fills this. All roles read one form of
// file, and each looks at its own sections.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "config/check_config.h"
#include "holdfast/v1/node.pb.h"

namespace holdfast::config {

enum class LogFormat : uint8_t { Auto, Json, Logfmt };
enum class StoreType : uint8_t { Sqlite, Etcd, Memory };

// What a daemon runs as.
enum class Role : uint8_t { Controller, Proxy, Agent, Witness, Probe, Injector };

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

// Whom a controller tells about load, in the terms of xDS.
struct LoadConfig {
  std::string lrs_server;  // HOST:PORT; empty: nobody
  std::string lrs_ca;
  std::string lrs_certificate;
  std::string lrs_key;
};

enum class HaRole : uint8_t { None, Primary, Backup };
enum class HaMode : uint8_t { BestEffort, Sync, Witness };

// Of a controller that is one of a pair; times as in ha/timing.h.
struct HaConfig {
  HaRole role = HaRole::None;
  std::string peer;  // HOST:PORT; empty: it is not
  HaMode mode = HaMode::Witness;
  std::string witness;
  Duration beat{0};
  Duration lease{0};
  Duration drop{0};
  Duration take{0};
  Duration skew{0};
  Duration witness_timeout{0};
  Duration vote_patience{0};
  Duration recovery{0};
};

struct WitnessSection {
  std::string listen;  // empty: this process is none
};

// Of agents, proxies and witnesses alike.
struct NodeSection {
  std::string data_dir;
  std::vector<std::string> servers;  // HOST:PORT; empty: the one that was joined
  std::string health_listen;         // plain; health and metrics only; empty: only on the socket
  Duration max_staleness{0};         // of the copy that answers reads
};

struct AgentLimits {
  uint64_t connections = 0;
};

struct TrackingLimits {
  uint64_t series = 0;
  uint64_t services = 0;
  uint64_t backends = 0;
};

// Of connections that are counted in the kernel.
struct TrackingConfig {
  bool enabled = false;
  std::string pins;    // a folder of a bpffs
  std::string cgroup;  // whose sockets are translated and counted
  Duration audit_interval{0};
  uint64_t refusals_to_eject = 0;
  Duration probe_after{0};
  Duration probe_at_most{0};
  Duration udp_idle{0};
  uint64_t holders = 0;  // 0: as many as are known
  TrackingLimits limits;
};

struct AgentSection {
  std::vector<std::string> services;  // SERVICE[/PORT]=TARGET
  CheckConfigs checks;                // by SERVICE[/PORT]
  std::vector<std::string> labels;    // KEY=VALUE
  std::vector<std::string> proxies;   // tunnel addresses to begin with
  std::string probe_listen;           // of a probe handler inside it; empty: none
  Duration stop_timeout{0};
  AgentLimits limits;
  TrackingConfig tracking;
};

struct ProxyLimits {
  uint64_t tunnels = 0;
  uint64_t tunnels_per_agent = 0;
  uint64_t tunnels_per_second = 0;
  uint64_t tunnel_burst = 0;
  uint64_t handshakes = 0;
  uint64_t strangers_per_address = 0;
  uint64_t connections = 0;
};

struct ProxySection {
  std::string tunnel_listen;
  std::string peer_listen;
  std::string public_listen;         // empty: off
  std::string advertise_host;        // empty: of the certificate, or the host's name
  std::vector<std::string> ingress;  // as written; see ingress_specs()
  std::string group;
  uint64_t generation = 0;
  Duration drain_timeout{0};
  bool reuse_port = false;
  ProxyLimits limits;
};

struct ProbeLimits {
  uint64_t running = 0;
  uint64_t connections = 0;
};

// Of `holdfastd probe`: the handler of a pod's probes.
struct ProbeSection {
  std::string listen;
  std::string health_listen;  // plain; health and metrics only; empty: off
  std::string address;        // an IP: where probes without a host go
  std::string source;         // an IP: where they come from; empty: the kernel's choice
  std::string registry_file;  // empty: the environment has the list
  ProbeLimits limits;
};

struct InjectorLimits {
  uint64_t connections = 0;
  uint64_t reviews = 0;
};

// Of the webhook that translates new pods.
struct InjectorSection {
  std::string listen;         // HTTPS
  std::string health_listen;  // plain; health and metrics only; empty: off
  std::string certificate_file;
  std::string key_file;
  bool enabled = true;  // of pods that say nothing themselves
  uint64_t port = 0;    // of the probe handler in the pods
  std::string image;
  std::string sidecar;
  std::vector<std::string> skip_namespaces;
  Duration stop_delay{0};
  InjectorLimits limits;
};

// Filled by load(); on its own it is not a usable configuration.
struct Config {
  uint64_t version = 0;
  LogConfig log;
  ControllerSection controller;
  StoreConfig store;
  IdentityConfig identity;
  HealthConfig health;
  PresenceConfig presence;
  LimitsConfig limits;
  AuditConfig audit;
  LoadConfig load;
  v1::ServiceConfig grpc_service_config;
  HaConfig ha;
  WitnessSection witness;
  NodeSection node;
  AgentSection agent;
  ProxySection proxy;
  ProbeSection probe;
  InjectorSection injector;
};
using ControllerConfig = Config;

// Where others reach this controller, given the port it really has: controller.advertise, or the
// first of controller.hosts (else the first listen address) with that port.
std::string advertised_address(const ControllerConfig& config, uint16_t port);

// Each of proxy.ingress whole: where a list has commas between, "sni:ADDRESS=web" and "api" are the
// one "sni:ADDRESS=web,api".
std::vector<std::string> ingress_specs(const std::vector<std::string>& written);

}  // namespace holdfast::config
