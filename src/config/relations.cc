#include "config/relations.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "config/addresses.h"
#include "config/node_rules.h"
#include "config/problem.h"
#include "resource/scalar_text.h"

namespace holdfast::config {
namespace {

using std::string_view;
using namespace std::chrono_literals;

// A controller that hangs is to be known as such within this time.
constexpr Duration kDetectionGoal = 6s;

class Relations {
 public:
  Relations(const Loaded& loaded, const std::set<string_view>& bad) : loaded_(loaded), bad_(bad) {}

  std::vector<Problem> check() {
    switch (loaded_.role) {
      case Role::Controller:
        check_controller();
        break;
      case Role::Proxy:
        check_proxy();
        break;
      case Role::Agent:
        check_agent();
        break;
      case Role::Witness:
        break;
      case Role::Probe:
        check_probe();
        break;
      case Role::Injector:
        check_injector();
        break;
    }
    return std::move(problems_);
  }

 private:
  using Keys = std::initializer_list<string_view>;

  void check_controller() {
    check_presence();
    check_detection();
    check_listeners();
    check_reach();
    check_etcd();
    check_load();
    check_pair();
    check_limits();
  }

  void check_proxy() {
    const ProxySection& proxy = loaded_.config.proxy;
    std::vector<std::pair<string_view, string_view>> taken;  // address, key
    claim(taken, proxy.tunnel_listen, "proxy.tunnel_listen");
    claim(taken, proxy.peer_listen, "proxy.peer_listen");
    claim(taken, proxy.public_listen, "proxy.public_listen");
    for (const std::string& spec : proxy.ingress) {
      claim(taken, ingress_address(spec), "proxy.ingress");
    }
    claim(taken, loaded_.config.node.health_listen, "node.health_listen");
    if (!proxy.ingress.empty() && ingress_address(proxy.ingress.front()).empty()) {
      error({"proxy.ingress"},
            fmt::format("proxy.ingress begins with the service {}, which belongs to no listener; "
                        "use one such as sni:0.0.0.0:8443={}",
                        proxy.ingress.front(), proxy.ingress.front()));
    }
    if (proxy.limits.tunnel_burst < proxy.limits.tunnels_per_second) {
      warn({"proxy.limits.tunnel_burst", "proxy.limits.tunnels_per_second"},
           fmt::format("proxy.limits.tunnel_burst {} is less than a second's worth of "
                       "proxy.limits.tunnels_per_second {}",
                       proxy.limits.tunnel_burst, proxy.limits.tunnels_per_second));
    }
  }

  void check_agent() {
    const AgentSection& agent = loaded_.config.agent;
    unique_before_equals(agent.services, "agent.services");
    unique_before_equals(agent.labels, "agent.labels");
    for (const auto& [name, check] : agent.checks) check_check(name, check);
    std::vector<std::pair<string_view, string_view>> taken;  // address, key
    claim(taken, agent.probe_listen, "agent.probe_listen");
    claim(taken, loaded_.config.node.health_listen, "node.health_listen");
    check_tracking(agent.tracking);
  }

  void check_tracking(const TrackingConfig& tracking) {
    if (tracking.enabled && tracking.cgroup.empty()) {
      error({"agent.tracking.enabled", "agent.tracking.cgroup"},
            "agent.tracking.enabled needs agent.tracking.cgroup, the folder of cgroup2 whose "
            "programs are counted");
    }
    if (tracking.probe_after > tracking.probe_at_most) {
      error(
          {"agent.tracking.probe_after", "agent.tracking.probe_at_most"},
          fmt::format("agent.tracking.probe_after {} is more than agent.tracking.probe_at_most "
                      "{}, which it grows to",
                      shown("agent.tracking.probe_after"), shown("agent.tracking.probe_at_most")));
    }
  }

  void check_check(const std::string& name, const CheckConfig& check) {
    const std::vector<std::string>& services = loaded_.config.agent.services;
    const auto line = std::ranges::find_if(services, [&](const std::string& service) {
      return string_view(service).substr(0, service.find('=')) == name;
    });
    if (line == services.end()) {
      return error(
          {"agent.checks", "agent.services"},
          fmt::format("agent.checks has {}, which agent.services does not expose; use what "
                      "stands before \"=\" there",
                      name));
    }
    const bool is_unix = string_view(*line).substr(name.size() + 1).starts_with("unix:");
    if (is_unix && check.port == 0) {
      error({"agent.checks", "agent.services"},
            fmt::format("agent.checks has {}, whose target is a unix socket, which no probe speaks "
                        "to; name a port of 127.0.0.1 with \"port\", or leave the check out",
                        name));
    }
    if (check.timeout > check.period) {
      warn({"agent.checks"},
           fmt::format("agent.checks: the timeout {} of {} is longer than its "
                       "period {}, so a frozen application is asked less often",
                       duration_text(check.timeout), name, duration_text(check.period)));
    }
  }

  void check_probe() {
    const ProbeSection& probe = loaded_.config.probe;
    std::vector<std::pair<string_view, string_view>> taken;  // address, key
    claim(taken, probe.listen, "probe.listen");
    claim(taken, probe.health_listen, "probe.health_listen");
  }

  void check_injector() {
    const InjectorSection& injector = loaded_.config.injector;
    std::vector<std::pair<string_view, string_view>> taken;  // address, key
    claim(taken, injector.listen, "injector.listen");
    claim(taken, injector.health_listen, "injector.health_listen");
    if (injector.certificate_file.empty() || injector.key_file.empty()) {
      error({"injector.certificate_file", "injector.key_file"},
            "an injector needs injector.certificate_file and injector.key_file: API servers ask "
            "over TLS only");
    }
  }

  void unique_before_equals(const std::vector<std::string>& pairs, string_view key) {
    std::set<string_view> seen;
    for (const string_view pair : pairs) {
      const string_view name = pair.substr(0, pair.find('='));
      if (!seen.insert(name).second) error({key}, fmt::format("{} has {} twice", key, name));
    }
  }

  void check_presence() {
    const PresenceConfig& presence = loaded_.config.presence;
    if (presence.agent_max_ttl < presence.agent_ttl) {
      error({"presence.agent_max_ttl", "presence.agent_ttl"},
            fmt::format("presence.agent_max_ttl {} is less than presence.agent_ttl {}; use as much "
                        "or more",
                        shown("presence.agent_max_ttl"), shown("presence.agent_ttl")));
    }
    for (const string_view ttl : {"presence.controller_ttl", "presence.proxy_ttl",
                                  "presence.agent_ttl", "presence.agent_max_ttl"}) {
      if (duration("presence.keep_offline") >= duration(ttl)) continue;
      error({"presence.keep_offline", ttl},
            fmt::format("presence.keep_offline {} would forget nodes before {} {} calls them "
                        "offline; use as much or more",
                        shown("presence.keep_offline"), ttl, shown(ttl)));
    }
    const Duration certificate = loaded_.config.identity.node_certificate_ttl;
    if (certificate / 3 < presence.agent_max_ttl) {
      warn({"identity.node_certificate_ttl", "presence.agent_max_ttl"},
           fmt::format("the last third of identity.node_certificate_ttl {} is shorter than "
                       "presence.agent_max_ttl {}: a node may not be told in time to renew",
                       shown("identity.node_certificate_ttl"), shown("presence.agent_max_ttl")));
    }
    if (presence.keep_offline < certificate) {
      warn({"presence.keep_offline", "identity.node_certificate_ttl"},
           fmt::format("presence.keep_offline {} is shorter than identity.node_certificate_ttl {}: "
                       "a rotation of the authority does not wait for a node that is forgotten",
                       shown("presence.keep_offline"), shown("identity.node_certificate_ttl")));
    }
  }

  // The longest silence before a failing heartbeat is noticed: a whole period, then the write.
  void check_detection() {
    const Duration ttl = loaded_.config.presence.controller_ttl;
    const Duration timeout = loaded_.config.health.heartbeat_write_timeout;
    if (timeout >= ttl) {
      return error(
          {"health.heartbeat_write_timeout", "presence.controller_ttl"},
          fmt::format("health.heartbeat_write_timeout {} must be less than "
                      "presence.controller_ttl {}, or a slow heartbeat is always too late",
                      shown("health.heartbeat_write_timeout"), shown("presence.controller_ttl")));
    }
    const Duration detection = ttl / 2 + ttl / 10 + timeout;
    if (detection <= kDetectionGoal) return;
    warn({"presence.controller_ttl", "health.heartbeat_write_timeout"},
         fmt::format("a controller whose store hangs is found out only after {}: half and a tenth "
                     "of presence.controller_ttl {} and health.heartbeat_write_timeout {}; {} is "
                     "what we promise",
                     duration_text(detection), shown("presence.controller_ttl"),
                     shown("health.heartbeat_write_timeout"), duration_text(kDetectionGoal)));
  }

  void check_listeners() {
    const ControllerSection& controller = loaded_.config.controller;
    std::vector<std::pair<string_view, string_view>> taken;  // address, key
    for (const std::string& address : controller.listen) claim(taken, address, "controller.listen");
    claim(taken, controller.http.listen, "controller.http.listen");
    claim(taken, controller.http.health_listen, "controller.http.health_listen");
  }

  void claim(std::vector<std::pair<string_view, string_view>>& taken, string_view address,
             string_view key) {
    if (address.empty() || bad_.contains(key)) return;
    for (const auto& [other, other_key] : taken) {
      if (!overlap(host_of(other), host_of(address)) || port_of(other) != port_of(address) ||
          port_of(address) == "0")
        continue;
      error({key, other_key}, fmt::format("{} {} is also taken by {} {}; choose another port", key,
                                          address, other_key, other));
    }
    taken.emplace_back(address, key);
  }

  // Nobody can verify a listener whose certificate does not name it.
  void check_reach() {
    const ControllerSection& controller = loaded_.config.controller;
    std::vector<std::pair<string_view, string_view>> listeners = {
        {"controller.http.listen", controller.http.listen}};
    for (const std::string& address : controller.listen) {
      listeners.emplace_back("controller.listen", address);
    }
    for (const auto& [key, address] : listeners) {
      if (address.empty() || bad_.contains(key)) continue;
      if (is_loopback(host_of(address)) || !controller.hosts.empty()) continue;
      error({key, "controller.hosts"},
            fmt::format("{} {} can be reached from other machines, but controller.hosts is empty, "
                        "so its certificate would name none; list the names and addresses they use",
                        key, address));
    }
    const string_view health = controller.http.health_listen;
    if (!health.empty() && !is_loopback(host_of(health))) {
      warn({"controller.http.health_listen"},
           fmt::format("controller.http.health_listen {} shows health and metrics to everyone who "
                       "can reach it",
                       health));
    }
  }

  void check_etcd() {
    const EtcdConfig& etcd = loaded_.config.store.etcd;
    if (loaded_.config.store.type == StoreType::Etcd && etcd.endpoints.empty()) {
      error({"store.type", "store.etcd.endpoints"},
            "store.type etcd needs store.etcd.endpoints, such as [10.0.0.7:2379]");
    }
    if (loaded_.config.store.type != StoreType::Etcd && !etcd.endpoints.empty()) {
      warn({"store.etcd.endpoints", "store.type"},
           fmt::format("store.etcd.endpoints has no effect with store.type {}",
                       shown("store.type")));
    }
    needs("store.etcd.certificate", "store.etcd.key");
    needs("store.etcd.key", "store.etcd.certificate");
    needs("store.etcd.certificate", "store.etcd.ca");
    needs("store.etcd.username", "store.etcd.password_file");
    needs("store.etcd.password_file", "store.etcd.username");
  }

  void check_load() {
    needs("load.lrs_ca", "load.lrs_server");
    needs("load.lrs_certificate", "load.lrs_key");
    needs("load.lrs_key", "load.lrs_certificate");
    needs("load.lrs_certificate", "load.lrs_ca");
    if (!is_here(loaded_.config.load.lrs_server)) needs("load.lrs_server", "load.lrs_ca");
  }

  // Three processes at three addresses. How the times of a pair must stand to each other is said by
  // Sources::pair_times.
  void check_pair_addresses(string_view own_port) {
    const HaConfig& ha = loaded_.config.ha;
    const auto port = resource::parse_int<uint32_t>(own_port);
    if (!port) return;
    const std::string own = advertised_address(loaded_.config, static_cast<uint16_t>(*port));
    const auto is_own = [&](string_view address) {
      if (address == own) return true;
      const auto& listen = loaded_.config.controller.listen;
      return std::ranges::any_of(
          listen, [&](const std::string& each) { return same_socket(address, each); });
    };
    const bool witnessed = ha.mode == HaMode::Witness && !ha.witness.empty();
    if (is_own(ha.peer)) {
      error({"ha.peer", "controller.listen"},
            fmt::format("ha.peer is {}, which is this controller itself; name the other half",
                        ha.peer));
    }
    if (witnessed && is_own(ha.witness)) {
      error({"ha.witness", "controller.listen"},
            fmt::format("ha.witness is {}, which is this controller itself; name a third process",
                        ha.witness));
    }
    if (witnessed && same_socket(ha.witness, ha.peer)) {
      error({"ha.witness", "ha.peer"},
            fmt::format("ha.witness is {}, which is ha.peer; name a third process", ha.witness));
    }
  }

  void check_pair() {
    const HaConfig& ha = loaded_.config.ha;
    if (ha.peer.empty()) {
      if (ha.role == HaRole::None) return;
      error({"ha.role", "ha.peer"}, "ha.role needs ha.peer, the HOST:PORT of the other half");
      return;
    }
    if (ha.role == HaRole::None) {
      error({"ha.peer", "ha.role"},
            "ha.peer needs ha.role: primary for one of the two controllers, backup for the other");
    }
    if (ha.mode == HaMode::Witness && ha.witness.empty()) {
      error({"ha.mode", "ha.peer", "ha.witness"},
            "ha.mode witness needs ha.witness, the HOST:PORT of a `holdfastd witness`; or choose "
            "ha.mode sync or best-effort");
    }
    if (loaded_.config.store.type != StoreType::Sqlite) {
      error({"ha.peer", "store.type"},
            fmt::format("ha.peer is for store.type sqlite, not {}: with etcd run several "
                        "controllers on one cluster, without ha.peer",
                        shown("store.type")));
    }
    const std::vector<std::string>& listen = loaded_.config.controller.listen;
    if (listen.empty() || (!bad_.contains("controller.listen") && port_of(listen[0]) == "0")) {
      error({"ha.peer", "controller.listen"},
            "ha.peer needs a port in controller.listen that is always the same");
    } else if (!bad_.contains("controller.listen")) {
      check_pair_addresses(port_of(listen[0]));
    }
  }

  void needs(string_view key, string_view other) {
    if (shown(key).empty() || !shown(other).empty()) return;
    error({key, other}, fmt::format("{} needs {}; set both or neither", key, other));
  }

  void check_limits() {
    const LimitsConfig& limits = loaded_.config.limits;
    if (limits.streams_per_connection <= limits.calls_in_flight) return;
    warn({"limits.streams_per_connection", "limits.calls_in_flight"},
         fmt::format("one connection may open {} streams, more than limits.calls_in_flight {}",
                     limits.streams_per_connection, limits.calls_in_flight));
  }

  const Setting& setting(string_view path) const {
    return *std::ranges::find(loaded_.settings, path, [](const Setting& s) { return s.key->path; });
  }
  std::string shown(string_view path) const {
    const Setting& found = setting(path);
    return value_text(*found.key, found.value);
  }
  Duration duration(string_view path) const { return std::get<Duration>(setting(path).value); }

  void error(Keys about, std::string message) { add(Severity::Error, about, std::move(message)); }
  void warn(Keys about, std::string message) { add(Severity::Warning, about, std::move(message)); }
  // Placed at the first of the keys that somebody set.
  void add(Severity severity, Keys about, std::string message) {
    Problem problem{severity, kBadValue, {}, std::move(message)};
    for (const string_view path : about) {
      if (bad_.contains(path)) return;
      const Origin& origin = setting(path).origin;
      if (problem.origin.from == From::Default) problem.origin = origin;
    }
    problems_.push_back(std::move(problem));
  }

  const Loaded& loaded_;
  const std::set<string_view>& bad_;
  std::vector<Problem> problems_;
};

}  // namespace

std::vector<Problem> check_relations(const Loaded& loaded, const std::set<string_view>& bad) {
  return Relations(loaded, bad).check();
}

}  // namespace holdfast::config
