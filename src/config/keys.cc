#include "config/keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "config/addresses.h"
#include "config/ha_keys.h"
#include "config/injector_keys.h"
#include "config/key_rows.h"
#include "config/node_keys.h"
#include "config/probe_keys.h"
#include "config/tracking_keys.h"
#include "resource/text_rules.h"

namespace holdfast::config {
namespace {

using std::string_view;

constexpr uint64_t kKiB = 1024;
constexpr uint64_t kMiB = 1024 * kKiB;
constexpr uint64_t kGiB = 1024 * kMiB;
constexpr uint64_t kMaxMessageBytes = 64 * kMiB;

constexpr std::array<string_view, 4> kLevels = {"debug", "info", "warn", "error"};
constexpr std::array<string_view, 3> kFormats = {"auto", "json", "logfmt"};
constexpr std::array<string_view, 3> kStores = {"sqlite", "etcd", "memory"};

using C = ControllerConfig;
using Section = ControllerSection;

constexpr auto kControllerKeys = std::to_array<Key>({
    {.path = "version",
     .type = Type::Count,
     .fallback = "1",
     .doc = "Version of this file's form; there is only 1.",
     .assign = into<&C::version>,
     .range = {1, 1},
     .only_in_file = true,
     .roles = kForAll},
    {.path = "log.level",
     .type = Type::Choice,
     .fallback = "info",
     .doc = "The least important lines to log.",
     .assign = into<&C::log, &LogConfig::level>,
     .words = kLevels,
     .needs_restart = false,
     .roles = kForAll},
    {.path = "log.format",
     .type = Type::Choice,
     .fallback = "auto",
     .doc = "Form of log lines on stderr; auto is logfmt on a terminal and json elsewhere.",
     .assign = into<&C::log, &LogConfig::format>,
     .words = kFormats,
     .needs_restart = false,
     .roles = kForAll},
    {.path = "controller.name",
     .doc = "Name this controller announces; unique in the cluster.",
     .assign = into<&C::controller, &Section::name>,
     .rule = resource::wrong_name,
     .machine_default = "the host's name"},
    {.path = "controller.zone",
     .fallback = "default",
     .doc = "Zone the controller is in.",
     .assign = into<&C::controller, &Section::zone>,
     .rule = resource::wrong_name},
    {.path = "controller.data_dir",
     .doc = "Folder of the store, the certificates, the audit log and the unix socket.",
     .assign = into<&C::controller, &Section::data_dir>,
     .machine_default = "/var/lib/holdfast, or under XDG_STATE_HOME for other users than root"},
    {.path = "controller.listen",
     .type = Type::List,
     .fallback = "127.0.0.1:7443",
     .doc = "Addresses of the gRPC API, always with mutual TLS; port 0 picks one.",
     .assign = into<&C::controller, &Section::listen>,
     .rule = wrong_listen_address},
    {.path = "controller.advertise",
     .doc = "Address announced to other nodes.",
     .assign = into<&C::controller, &Section::advertise>,
     .rule = resource::wrong_address,
     .machine_default = "the first of controller.hosts with the port of controller.listen",
     .may_be_empty = true},
    {.path = "controller.hosts",
     .type = Type::List,
     .doc = "DNS names and IP addresses in the controller's certificate; loopback and the "
            "controller's name are always there.",
     .assign = into<&C::controller, &Section::hosts>,
     .rule = wrong_host,
     .may_be_empty = true},
    {.path = "controller.http.listen",
     .fallback = "127.0.0.1:7444",
     .doc = "Address of the HTTPS API; \"\" turns it off.",
     .assign = into<&C::controller, &Section::http, &HttpConfig::listen>,
     .rule = wrong_listen_address,
     .may_be_empty = true},
    {.path = "controller.http.health_listen",
     .fallback = "127.0.0.1:7480",
     .doc = "Address that serves only health and metrics, without TLS; \"\" turns it off.",
     .assign = into<&C::controller, &Section::http, &HttpConfig::health_listen>,
     .rule = wrong_listen_address,
     .may_be_empty = true},
    {.path = "store.type",
     .type = Type::Choice,
     .fallback = "sqlite",
     .doc = "Where resources are kept: a file in data_dir, an etcd cluster, or memory that is "
            "lost at exit.",
     .assign = into<&C::store, &StoreConfig::type>,
     .words = kStores},
    {.path = "store.etcd.endpoints",
     .type = Type::List,
     .doc = "HOST:PORT of each etcd member; store.type etcd needs at least one.",
     .assign = into<&C::store, &StoreConfig::etcd, &EtcdConfig::endpoints>,
     .rule = resource::wrong_address,
     .may_be_empty = true},
    {.path = "store.etcd.ca",
     .doc = "PEM file of the authority that signed etcd's certificates; turns TLS on.",
     .assign = into<&C::store, &StoreConfig::etcd, &EtcdConfig::ca>,
     .may_be_empty = true},
    {.path = "store.etcd.certificate",
     .doc = "PEM file of the certificate to identify with at etcd.",
     .assign = into<&C::store, &StoreConfig::etcd, &EtcdConfig::certificate>,
     .may_be_empty = true},
    {.path = "store.etcd.key",
     .doc = "PEM file of that certificate's private key.",
     .assign = into<&C::store, &StoreConfig::etcd, &EtcdConfig::key>,
     .may_be_empty = true},
    {.path = "store.etcd.username",
     .doc = "Name of an etcd user.",
     .assign = into<&C::store, &StoreConfig::etcd, &EtcdConfig::username>,
     .may_be_empty = true},
    {.path = "store.etcd.password_file",
     .doc = "File whose first line is that user's password.",
     .assign = into<&C::store, &StoreConfig::etcd, &EtcdConfig::password_file>,
     .may_be_empty = true},
    {.path = "store.etcd.prefix",
     .fallback = "/holdfast",
     .doc = "What every key in etcd begins with; the same for all controllers of a cluster.",
     .assign = into<&C::store, &StoreConfig::etcd, &EtcdConfig::prefix>,
     .rule = wrong_etcd_prefix},
    {.path = "identity.node_certificate_ttl",
     .type = Type::Time,
     .fallback = "24h",
     .doc = "Life of a node's certificate; nodes renew theirs after two thirds of it.",
     .assign = into<&C::identity, &IdentityConfig::node_certificate_ttl>,
     .range = {5 * kSecond, 1 * kDay}},
    {.path = "identity.user_certificate_ttl",
     .type = Type::Time,
     .fallback = "12h",
     .doc = "Life of the certificate a user gets at login.",
     .assign = into<&C::identity, &IdentityConfig::user_certificate_ttl>,
     .range = {10 * kSecond, 30 * kDay}},
    {.path = "identity.token_ttl",
     .type = Type::Time,
     .fallback = "30m",
     .doc = "Life of a join token that is made without one.",
     .assign = into<&C::identity, &IdentityConfig::token_ttl>,
     .range = {1 * kSecond, 30 * kDay}},
    {.path = "health.recovery_window",
     .type = Type::Time,
     .fallback = "10s",
     .doc = "How long a component must be well before it counts as healthy again.",
     .assign = into<&C::health, &HealthConfig::recovery_window>,
     .range = {1 * kMillisecond, 1 * kHour}},
    {.path = "health.heartbeat_write_timeout",
     .type = Type::Time,
     .fallback = "2s",
     .doc = "After this long a heartbeat that is still being written has failed.",
     .assign = into<&C::health, &HealthConfig::heartbeat_write_timeout>,
     .range = {10 * kMillisecond, 1 * kMinute}},
    {.path = "presence.controller_ttl",
     .type = Type::Time,
     .fallback = "5s",
     .doc = "A controller that has not announced itself for this long is offline.",
     .assign = into<&C::presence, &PresenceConfig::controller_ttl>,
     .range = {100 * kMillisecond, 1 * kHour}},
    {.path = "presence.proxy_ttl",
     .type = Type::Time,
     .fallback = "30s",
     .doc = "The same for proxies.",
     .assign = into<&C::presence, &PresenceConfig::proxy_ttl>,
     .range = {100 * kMillisecond, 1 * kHour}},
    {.path = "presence.agent_ttl",
     .type = Type::Time,
     .fallback = "60s",
     .doc = "The same for agents, in a small fleet.",
     .assign = into<&C::presence, &PresenceConfig::agent_ttl>,
     .range = {100 * kMillisecond, 1 * kHour}},
    {.path = "presence.agent_max_ttl",
     .type = Type::Time,
     .fallback = "6m",
     .doc = "The same for agents, in the largest fleet: the time grows with the number of agents "
            "up to this.",
     .assign = into<&C::presence, &PresenceConfig::agent_max_ttl>,
     .range = {100 * kMillisecond, 1 * kDay}},
    {.path = "presence.keep_offline",
     .type = Type::Time,
     .fallback = "24h",
     .doc = "How long a node that is offline stays visible.",
     .assign = into<&C::presence, &PresenceConfig::keep_offline>,
     .range = {100 * kMillisecond, 365 * kDay}},
    {.path = "limits.message_bytes",
     .type = Type::Bytes,
     .fallback = "4MiB",
     .doc = "Largest message a peer may send.",
     .assign = into<&C::limits, &LimitsConfig::message_bytes>,
     .range = {64 * kKiB, kMaxMessageBytes}},
    {.path = "limits.streams_per_connection",
     .type = Type::Count,
     .fallback = "1024",
     .doc = "Calls and watches that one connection may have open.",
     .assign = into<&C::limits, &LimitsConfig::streams_per_connection>,
     .range = {1, 100'000}},
    {.path = "limits.calls_in_flight",
     .type = Type::Count,
     .fallback = "4096",
     .doc = "Calls that are carried out at once; more are refused.",
     .assign = into<&C::limits, &LimitsConfig::calls_in_flight>,
     .range = {1, 1'000'000}},
    {.path = "limits.requests_per_second",
     .type = Type::Count,
     .fallback = "200",
     .doc = "Requests that one identity may make per second in the long run.",
     .assign = into<&C::limits, &LimitsConfig::requests_per_second>,
     .range = {1, 1'000'000}},
    {.path = "limits.request_burst",
     .type = Type::Count,
     .fallback = "400",
     .doc = "Requests that one identity may make at once after a rest.",
     .assign = into<&C::limits, &LimitsConfig::request_burst>,
     .range = {1, 1'000'000}},
    {.path = "limits.connections",
     .type = Type::Count,
     .fallback = "8192",
     .doc = "Connections at once with gRPC, and with HTTP, three quarters of them from one "
            "address; more are closed.",
     .assign = into<&C::limits, &LimitsConfig::connections>,
     .range = {1, 1'000'000}},
    {.path = "audit.max_bytes",
     .type = Type::Bytes,
     .fallback = "64MiB",
     .doc = "Size at which the audit log goes on in a new file.",
     .assign = into<&C::audit, &AuditConfig::max_bytes>,
     .range = {4 * kKiB, 64 * kGiB}},
    {.path = "audit.keep_files",
     .type = Type::Count,
     .fallback = "5",
     .doc = "Old files of the audit log that are kept.",
     .assign = into<&C::audit, &AuditConfig::keep_files>,
     .range = {1, 1'000}},
    {.path = "load.lrs_server",
     .doc = "HOST:PORT of a management server that is told about load (xDS load reporting); "
            "without load.lrs_ca only on this machine.",
     .assign = into<&C::load, &LoadConfig::lrs_server>,
     .rule = resource::wrong_address,
     .may_be_empty = true},
    {.path = "load.lrs_ca",
     .doc = "PEM file of the authority that signed that server's certificate; turns TLS on.",
     .assign = into<&C::load, &LoadConfig::lrs_ca>,
     .may_be_empty = true},
    {.path = "load.lrs_certificate",
     .doc = "PEM file of the certificate to identify with there.",
     .assign = into<&C::load, &LoadConfig::lrs_certificate>,
     .may_be_empty = true},
    {.path = "load.lrs_key",
     .doc = "PEM file of that certificate's private key.",
     .assign = into<&C::load, &LoadConfig::lrs_key>,
     .may_be_empty = true},
    {.path = "grpc_service_config",
     .type = Type::Policies,
     .fallback = R"({"loadBalancingConfig":[{"pick_healthy":{"mode":"reconnect"}}],)"
                 R"("healthCheckConfig":{"serviceName":""}})",
     .doc = "What GetServiceConfig tells clients about balancing, as a mapping or as JSON.",
     .assign = into<&C::grpc_service_config>},
});

constexpr auto kTable = [] {
  std::array<Key, kControllerKeys.size() + kHaKeys.size() + kNodeKeys.size() +
                      kTrackingKeys.size() + kProbeKeys.size() + kInjectorKeys.size()>
      all{};
  auto next = std::ranges::copy(kControllerKeys, all.begin()).out;
  next = std::ranges::copy(kHaKeys, next).out;
  next = std::ranges::copy(kNodeKeys, next).out;
  next = std::ranges::copy(kTrackingKeys, next).out;
  next = std::ranges::copy(kProbeKeys, next).out;
  std::ranges::copy(kInjectorKeys, next);
  return all;
}();

}  // namespace

std::span<const Key> keys() {
  return kTable;
}

}  // namespace holdfast::config
