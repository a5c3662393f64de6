// The proxies of the simulated fleet: the cores, and around them what their services do.
#include <fmt/format.h>

#include <ranges>

#include "base/check.h"
#include "tunnel/agent_pool_codec.h"
#include "tunnel/fleet_world.h"

namespace holdfast::tunnel::fleet {

using namespace std::chrono_literals;

namespace {

v1::Exposed exposed_by(const std::string& agent) {
  v1::Exposed exposed;
  for (const std::string& name : {std::string("web"), "of-" + agent}) {
    v1::ExposedService& service = *exposed.add_services();
    service.set_service(name);
    service.set_healthy(true);
  }
  return exposed;
}

std::vector<ProxyInfo> decode(const std::string& bytes) {
  v1::TunnelMessage message;
  HF_CHECK(message.ParseFromString(bytes), "a message of our own");
  return discovered_proxies(message.discovery());
}

}  // namespace

Process::Process(const FleetOptions& options, const ProxyFacts& proxy, uint64_t run, Time now)
    : facts(proxy),
      number(run),
      started(now),
      routes(proxy.zone),
      table({}, routes),
      peers({}, routes),
      discovery({.self = proxy.name, .ttl = options.ttl}, run),
      admission(options.admission, run, now),
      drain(options.drain, run) {}

void World::tick(uint64_t number) {
  Process* process = running(number);
  if (process == nullptr) return;
  process->discovery.on_tick(now_);
  for (const auto& [tunnel, id] : process->tunnels) {
    const Connection& connection = connections_.at(id);
    if (connection.told && connection.agent_open && !is_cut(connection.agent, connection.place)) {
      process->table.heard(tunnel, now_);
    }
  }
  for (const TunnelId tunnel : process->table.on_tick(now_)) {
    at(now_, [this, id = process->tunnels.at(tunnel)] { connection_lost(id); });
  }
  link_peers(*process);
  process->peers.on_tick(now_);
  if (!process->drain.is_draining()) process->takes_clients = true;
  tell_agents(*process);
  pump(*process);
  at(now_ + options_.tick, [this, number] { tick(number); });
}

void World::link_peers(Process& process) {
  for (const PeerTable::Row& row : process.peers.rows()) {
    const bool is_up = std::ranges::any_of(processes_, [&](const auto& other) {
      return other && other->facts.name == row.peer && other->told.contains(process.facts.name) &&
             !peer_cuts_.contains({process.place, other->place});
    });
    if (!is_up) process.peers.lost(row.peer, now_);
  }
  for (const auto& other : processes_) {
    if (!other || other.get() == &process) continue;
    if (peer_cuts_.contains({process.place, other->place})) {
      other->told.erase(process.facts.name);
      continue;
    }
    auto& [run, cursor] = other->told[process.facts.name];
    if (run != process.number || !process.peers.is_linked(other->facts.name)) {
      run = process.number;
      cursor = {};
      HF_CHECK(process.peers.linked(other->facts.name, other->facts.zone).ok(), "few peers");
    }
    process.discovery.peer_alive(other->facts.name, now_);
    while (const auto holding = other->table.next_holding(cursor, 2'000)) {
      HF_CHECK(process.peers.holding(other->facts.name, *holding).ok(), "all before changes");
    }
  }
}

void World::tell_agents(Process& process) {
  std::map<const std::string*, std::vector<ProxyInfo>> decoded;
  for (const uint64_t id : process.tunnels | std::views::values) {
    for (const Discovery::Bytes& bytes : process.discovery.take(connections_.at(id).cursor, now_)) {
      std::vector<ProxyInfo>& proxies = decoded[bytes.get()];
      if (proxies.empty()) proxies = decode(*bytes);
      to_agent(
          id,
          [this, proxies](Agent&, Connection& there) {
            if (!there.told) return;
            feed(there.agent, [&](AgentPool& pool) { return pool.on_discovery(proxies, now_); });
          },
          now_);
    }
  }
}

void World::announce(uint64_t number, bool again) {
  Process* process = running(number);
  if (process == nullptr) return;
  if (controllers_) {
    Discovery::Entry& entry = store_[process->facts.name];
    entry.facts = process->facts;
    entry.facts.draining = process->drain.is_draining();
    ++entry.heartbeat;
    for (const auto& other : processes_) {
      if (!other) continue;
      at(now_ + 50ms + rng_.below(400ms), [this, to = other->number, entry] {
        if (Process* reader = running(to)) reader->discovery.entry(entry, now_);
      });
    }
  }
  if (!again) return;
  at(now_ + options_.ttl / 2 + rng_.below(options_.ttl / 10),
     [this, number] { announce(number, true); });
}

void World::pump(Process& process) {
  while (!process.backlog.empty() && process.admission.may_accept()) {
    Connection* connection = find(process.backlog.front());
    process.backlog.pop_front();
    if (connection == nullptr || connection->process != process.number) continue;
    const auto ticket = process.admission.arrive(fmt::format("10.0.0.{}", connection->agent), now_);
    if (!ticket) {
      at(now_, [this, id = connection->id] { connection_lost(id); });
      continue;
    }
    process.admission.spoke(*ticket);
    connection->ticket = *ticket;
    process.handshakes[*ticket] = connection->id;
  }
  while (const auto start = process.admission.next(now_)) begin_handshake(process, *start);
  const std::optional<Time> next = process.admission.next_deadline(now_);
  if (!next || (process.pump_at > now_ && process.pump_at <= *next)) return;
  process.pump_at = std::max(*next, now_ + 1ms);
  at(process.pump_at, [this, number = process.number] {
    if (Process* there = running(number)) pump(*there);
  });
}

void World::begin_handshake(Process& process, const Admission::Start& start) {
  const uint64_t id = process.handshakes.at(start.ticket);
  const Connection& connection = connections_.at(id);
  at(now_ + 2 * latency(connection.agent, connection.place) + 2ms,
     [this, id, refuse = start.refuse] { hello(id, refuse); });
}

void World::hello(uint64_t id, std::optional<Duration> refused) {
  Connection* connection = find(id);
  Process* process = connection == nullptr ? nullptr : running(connection->process);
  if (process == nullptr || connection->ticket == 0) return;
  if (is_cut(connection->agent, connection->place)) {
    at(now_ + 10s, [this, id] {
      const Connection* stuck = find(id);
      if (stuck != nullptr && stuck->at_proxy == 0) connection_lost(id);
    });
    return;
  }
  const AgentPool& pool = *agents_[connection->agent].pool;
  if (connection->agent_open && !pool.may_claim(connection->at_agent, process->facts.name)) {
    return dial_ended(
        id, [&](AgentPool& one, TunnelId tunnel) { return one.on_already_claimed(tunnel, now_); });
  }
  if (!connection->agent_open) return;  // its end is on its way
  process->admission.authenticated(connection->ticket);
  if (refused || !process->takes_tunnels) {
    refuse(*process, *connection, refused.value_or(process->admission.retry_after(now_)));
  } else {
    welcome(*process, *connection);
  }
  pump(*process);
}

void World::refuse(Process& process, Connection& connection, Duration retry_after) {
  ++stats_.refused;
  process.admission.finish(connection.ticket, Admission::Outcome::Refused, now_);
  process.handshakes.erase(connection.ticket);
  connection.ticket = 0;
  to_agent(
      connection.id,
      [this, retry_after](Agent&, Connection& there) {
        dial_ended(there.id, [&](AgentPool& pool, TunnelId tunnel) {
          return pool.on_refused(tunnel, {.code = "HF2103", .retry_after = retry_after}, now_);
        });
      },
      now_);
}

void World::welcome(Process& process, Connection& connection) {
  const Agent& agent = agents_[connection.agent];
  const Result<TunnelId> tunnel = process.table.add(
      {.agent = agent.name, .zone = agent.zone, .boot = 1, .exposed = exposed_by(agent.name)},
      now_);
  if (!tunnel.ok()) return refuse(process, connection, process.admission.retry_after(now_));
  ++stats_.admitted;
  ++stats_.admitted_in[now_.time_since_epoch() / 1s];
  process.admission.finish(connection.ticket, Admission::Outcome::Admitted, now_);
  process.handshakes.erase(connection.ticket);
  connection.ticket = 0;
  connection.at_proxy = *tunnel;
  process.tunnels[*tunnel] = connection.id;
  process.drain.tunnel_added(*tunnel, now_);
  if (process.drain.is_draining()) pump_drain(process);
  const ProxyInfo info{.name = process.facts.name,
                       .zone = process.facts.zone,
                       .group = process.facts.group,
                       .generation = process.facts.generation,
                       .draining = process.facts.draining};
  to_agent(
      connection.id,
      [this, info](Agent&, Connection& there) {
        if (there.told) return;
        there.told = true;
        const uint64_t id = there.id;
        const TunnelId at_agent = there.at_agent;
        feed(there.agent, [&](AgentPool& pool) { return pool.on_connected(at_agent, info, now_); });
        to_proxy(
            id, [this](Process& one, Connection& own) { one.table.heard(own.at_proxy, now_); },
            now_);
        at(now_ + 2s, [this, id] {
          const Connection* measured = find(id);
          if (measured == nullptr || !measured->agent_open) return;
          const Duration trip = 2 * latency(measured->agent, measured->place);
          feed(measured->agent,
               [&](AgentPool& pool) { return pool.on_round_trip(measured->at_agent, trip, now_); });
        });
      },
      now_);
}

void World::gone_at_proxy(Process& process, Connection& connection) {
  for (const uint64_t stream : std::set(connection.streams)) end_stream(stream, true);
  if (connection.at_proxy != 0) {
    process.table.remove(connection.at_proxy);
    process.drain.tunnel_gone(connection.at_proxy);
    process.tunnels.erase(connection.at_proxy);
    connection.at_proxy = 0;
  }
  if (connection.ticket != 0) {
    process.admission.finish(connection.ticket, Admission::Outcome::Failed, now_);
    process.handshakes.erase(connection.ticket);
    connection.ticket = 0;
  }
  connection.process = 0;
  at(now_, [this, id = connection.id] { forget_if_over(id); });
  if (process.drain.is_draining()) pump_drain(process);
}

void World::pump_drain(Process& process) {
  const DrainLoad load{.streams = process.streams.size(), .tunnels = process.tunnels.size()};
  for (const DrainStep& step : process.drain.on_tick(load, now_)) carry_out(process, step);
  const std::optional<Time> next = process.drain.next_deadline();
  if (!next || (process.drain_at > now_ && process.drain_at <= *next)) return;
  process.drain_at = std::max(*next, now_ + 1ms);
  at(process.drain_at, [this, number = process.number] {
    if (Process* there = running(number)) pump_drain(*there);
  });
}

void World::carry_out(Process& process, const DrainStep& step) {
  const uint64_t number = process.number;
  if (std::holds_alternative<Deregister>(step)) {
    announce(number, false);
    if (!controllers_) return;
    at(now_ + 50ms, [this, number] {
      Process* there = running(number);
      if (there == nullptr) return;
      there->drain.deregistered();
      pump_drain(*there);
    });
  } else if (std::holds_alternative<TellOthers>(step)) {
    process.takes_tunnels = false;
    process.facts.draining = true;
    process.discovery.set_self(process.facts, now_);
  } else if (const auto* advise = std::get_if<AdviseTunnel>(&step)) {
    ++stats_.advised;
    to_agent(
        process.tunnels.at(advise->tunnel),
        [this, closes_in = advise->closes_in](Agent&, Connection& there) {
          feed(there.agent, [&](AgentPool& pool) {
            return pool.on_advice(there.at_agent, {.code = "HF2110", .closes_in = closes_in}, now_);
          });
        },
        now_);
  } else if (std::holds_alternative<StopListening>(step)) {
    process.takes_clients = false;
  } else {
    at(now_, [this, number, place = process.place] {
      if (running(number) == nullptr) return;
      end_process(place);
      if (restarts_.erase(place) > 0) at(now_ + 2s, [this, place] { start(place); });
    });
  }
}

}  // namespace holdfast::tunnel::fleet
