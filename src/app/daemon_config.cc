#include "app/daemon_config.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <span>

#include "app/pair_times.h"
#include "app/paths.h"
#include "base/reason.h"
#include "config/file_loader.h"

namespace holdfast::app {
namespace {

struct Flag {
  const char* name;
  const char* key;
  const char* help;
  bool is_list = false;
};
constexpr Flag kController[] = {
    {"--data-dir", "controller.data_dir", "where the store, the audit log and the socket live"},
    {"--name", "controller.name", "name of this controller"},
    {"--http-listen", "controller.http.listen", "address of the HTTPS API; \"\" turns it off"},
    {"--health-listen", "controller.http.health_listen",
     "plain address for health and metrics only; \"\" turns it off"},
    {"--store", "store.type", "sqlite, etcd, or memory (nothing is kept)"},
    {"--etcd-ca", "store.etcd.ca", "PEM file of etcd's CA; turns TLS on"},
    {"--etcd-cert", "store.etcd.certificate", "PEM file to identify with"},
    {"--etcd-key", "store.etcd.key", "PEM file of its private key"},
    {"--etcd-user", "store.etcd.username", "etcd user"},
    {"--etcd-password-file", "store.etcd.password_file", "file that holds the user's password"},
    {"--listen", "controller.listen", "address of the API with TLS, as 0.0.0.0:7443; may repeat",
     true},
    {"--host", "controller.hosts", "name or address in the certificate; may repeat", true},
    {"--etcd-endpoint", "store.etcd.endpoints", "HOST:PORT of a member; may repeat", true},
};
constexpr Flag kNode[] = {
    {"--data-dir", "node.data_dir", "where `holdfast join` put the identity"},
    {"--listen", "node.health_listen",
     "IP:PORT for /healthz, /readyz and /metrics (default: only on the socket)"},
    {"--server", "node.servers",
     "controller, as HOST:PORT; may repeat, and take several with commas between them (default: "
     "the one that was joined)",
     true},
};
constexpr Flag kAgent[] = {
    {"--service", "agent.services",
     "what to expose, as web=127.0.0.1:8080, api/metrics=http://127.0.0.1:9090 or "
     "db=unix:/run/pg.sock; may repeat",
     true},
    {"--label", "agent.labels", "label for the agent_selector of services, as app=shop; may repeat",
     true},
    {"--proxy", "agent.proxies",
     "HOST:PORT of a proxy to begin with; others are found by themselves", true},
    {"--stop-timeout", "agent.stop_timeout", "how long running connections get when it stops"},
};
constexpr Flag kProxy[] = {
    {"--tunnel-listen", "proxy.tunnel_listen", "IP:PORT that agents dial (default: 0.0.0.0:7451)"},
    {"--peer-listen", "proxy.peer_listen", "IP:PORT that proxies dial (default: 0.0.0.0:7452)"},
    {"--public-listen", "proxy.public_listen",
     "IP:PORT of HTTPS for users (default: 0.0.0.0:7453); \"\" turns it off"},
    {"--advertise-host", "proxy.advertise_host",
     "name or address at which others reach it (default: the first in its certificate)"},
    {"--ingress", "proxy.ingress",
     "listener for clients without certificates, as tcp:0.0.0.0:5432=db or "
     "sni:0.0.0.0:8443=web,api; may repeat",
     true},
    {"--group", "proxy.group", "proxies that are replaced together"},
    {"--generation", "proxy.generation", "agents want the highest of each group"},
    {"--drain-timeout", "proxy.drain_timeout",
     "how long running connections get when it stops (default: 5m)"},
};

constexpr Flag kWitness[] = {
    {"--data-dir", "node.data_dir", "where `holdfast join` put the identity, and of the record"},
    {"--listen", "witness.listen", "IP:PORT that the controllers ask (default: 0.0.0.0:7461)"},
    {"--health-listen", "node.health_listen",
     "IP:PORT for /healthz, /readyz and /metrics (default: only on the socket)"},
    {"--server", "node.servers",
     "controller, as HOST:PORT; may repeat (default: the one that was joined)", true},
};
constexpr Flag kProbe[] = {
    {"--listen", "probe.listen", "IP:PORT of the handler (default: [::]:9000, IPv4 too)"},
    {"--health-listen", "probe.health_listen",
     "IP:PORT for the handler's own /healthz, /readyz and /metrics (default: none)"},
    {"--registry-file", "probe.registry_file",
     "JSON list of probes (default: of HOLDFAST_DATAPLANE_PROBES, else KUMA_DATAPLANE_PROBES)"},
    {"--address", "probe.address", "IP that probes go to: the pod's own (default: 127.0.0.1)"},
};
constexpr Flag kMayWitness[] = {
    {"--witness-listen", "witness.listen",
     "IP:PORT at which a pair of controllers finds its record (default: none)"},
};
constexpr Flag kInjector[] = {
    {"--listen", "injector.listen", "IP:PORT that API servers ask (default: [::]:9443)"},
    {"--health-listen", "injector.health_listen",
     "IP:PORT for /healthz, /readyz and /metrics without TLS (default: none)"},
    {"--certificate-file", "injector.certificate_file", "PEM file of its certificate"},
    {"--key-file", "injector.key_file", "PEM file of the certificate's private key"},
    {"--port", "injector.port", "of the probe handler in pods (default: 9000)"},
    {"--image", "injector.image", "of the sidecar"},
};

}  // namespace

void DaemonConfig::add_options(CLI::App& daemon) {
  daemon.add_option("-c,--config", file_,
                    fmt::format("configuration file; {} if it is there", config::kDefaultFile));
  daemon.add_option("--log-level", flags_["log.level"], "debug, info, warn or error");
}

void DaemonConfig::add_role(CLI::App& command, config::Role role) {
  const auto add = [&](std::span<const Flag> flags) {
    for (const Flag& flag : flags) {
      if (flag.is_list) {
        command.add_option(flag.name, lists_[flag.key], flag.help)->delimiter(',');
      } else {
        command.add_option(flag.name, flags_[flag.key], flag.help);
      }
    }
  };
  if (role == config::Role::Controller) add(kController);
  if (role == config::Role::Witness) add(kWitness);
  if (role == config::Role::Probe) add(kProbe);
  if (role == config::Role::Injector) add(kInjector);
  if (role == config::Role::Proxy || role == config::Role::Agent) {
    add(kNode);
    add(kMayWitness);
  }
  if (role == config::Role::Proxy) add(kProxy);
  if (role == config::Role::Agent) add(kAgent);
  command.add_option("--set", set_, "any key of the configuration, as log.format=json; may repeat");
}

void DaemonConfig::add_tracking(CLI::App& command) {
  command.add_option("--pins", flags_["agent.tracking.pins"],
                     "folder that keeps what is loaded (default: /run/holdfast/bpf)");
  command.add_option("--cgroup", flags_["agent.tracking.cgroup"],
                     "folder of cgroup2 whose programs are counted");
  command.add_option("--set", set_, "any key of the configuration, as log.format=json; may repeat");
}

Result<config::Loaded> DaemonConfig::load(config::Role role) const {
  config::Gathering gathering{.file = file_,
                              .default_data_dir = default_data_dir(),
                              .flags = {},
                              .role = role,
                              .pair_times = check_pair_times};
  for (const auto& [key, value] : flags_) {
    if (value) gathering.flags[key] = *value;
  }
  for (const auto& [key, values] : lists_) {
    if (!values.empty()) gathering.flags[key] = fmt::format("{}", fmt::join(values, ","));
  }
  for (const std::string& pair : set_) {
    const size_t equals = pair.find('=');
    if (equals == std::string::npos) {
      return coded(absl::StatusCode::kInvalidArgument, "HF6010",
                   fmt::format("--set {}: use KEY=VALUE", pair));
    }
    gathering.flags[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  TRY(const config::Sources sources, config::gather(std::move(gathering)));
  return config::load(sources);
}

}  // namespace holdfast::app
