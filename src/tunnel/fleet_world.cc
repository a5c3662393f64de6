#include "tunnel/fleet_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

namespace holdfast::tunnel::fleet {

using namespace std::chrono_literals;

namespace {

constexpr Duration kDead = 7s;  // of silence: keepalive x misses, and what the last one waited

std::string zone_name(size_t index) {
  return fmt::format("zone-{}", index);
}

}  // namespace

uint64_t FleetStats::peak() const {
  uint64_t peak = 0;
  for (const uint64_t count : admitted_in | std::views::values) peak = std::max(peak, count);
  return peak;
}

World::World(const FleetOptions& options, uint64_t seed) : options_(options), rng_(seed) {
  for (size_t place = 0; place < options_.proxies; ++place) start(place);
  agents_.resize(options_.agents);
  for (size_t i = 0; i < agents_.size(); ++i) {
    Agent& agent = agents_[i];
    agent.name = fmt::format("agent-{}", i);
    agent.zone = zone_name(i % options_.zones);
    agent.last_usable = now_;
    PoolOptions pool;
    pool.zone = agent.zone;
    agent.pool = std::make_unique<AgentPool>(pool, rng_.next(), now_);
    at(now_ + rng_.below(2s), [this, i] {
      feed(i, [&](AgentPool& one) {
        return one.on_settings({.connection_count = options_.connection_count,
                                .disconnect_threshold = options_.threshold},
                               now_);
      });
      feed(i, [&](AgentPool& one) { return one.on_bootstrap({"lb:7444"}, now_); });
    });
  }
}

void World::at(Time when, std::function<void()> what) {
  queue_.push({.when = std::max(when, now_), .order = ++order_, .what = std::move(what)});
}

void World::run_for(Duration length) {
  const Time end = now_ + length;
  while (!queue_.empty() && queue_.top().when <= end) {
    Queued next = queue_.top();
    queue_.pop();
    now_ = next.when;
    next.what();
  }
  now_ = end;
}

void World::start(size_t place) {
  if (processes_.size() <= place) processes_.resize(place + 1);
  if (processes_[place] != nullptr) return;
  const ProxyFacts facts{.name = fmt::format("proxy-{}", place),
                         .zone = zone_name(place % options_.zones),
                         .group = "fleet",
                         .generation = generation_,
                         .tunnel_address = fmt::format("proxy-{}:7444", place)};
  processes_[place] = std::make_unique<Process>(options_, facts, ++last_number_, now_);
  Process& process = *processes_[place];
  process.place = place;
  by_number_[process.number] = &process;
  process.discovery.set_self(facts, now_);
  for (const auto& [name, entry] : store_) process.discovery.entry(entry, now_);
  announce(process.number, true);
  at(now_ + rng_.below(options_.tick), [this, number = process.number] { tick(number); });
}

Process* World::process(size_t place) {
  return place < processes_.size() ? processes_[place].get() : nullptr;
}

Process* World::running(uint64_t number) {
  const auto found = by_number_.find(number);
  return found == by_number_.end() ? nullptr : found->second;
}

Connection* World::find(uint64_t connection) {
  const auto found = connections_.find(connection);
  return found == connections_.end() ? nullptr : &found->second;
}

void World::end_process(size_t place) {
  Process& process = *processes_[place];
  for (const uint64_t stream : std::set(process.streams)) end_stream(stream, true);
  for (auto& [id, connection] : connections_) {
    if (connection.process != process.number) continue;
    connection.at_proxy = 0;
    connection.ticket = 0;
    connection.process = 0;
    to_agent(id, [this](Agent&, Connection& gone) { connection_lost(gone.id); }, now_);
  }
  by_number_.erase(process.number);
  processes_[place].reset();
}

void World::kill(size_t place) {
  if (process(place) != nullptr) end_process(place);
}

void World::drain(size_t place, bool restart) {
  Process* one = process(place);
  if (one == nullptr) return;
  if (restart) restarts_.insert(place);
  one->drain.begin(one->table.tunnels(), now_);
  pump_drain(*one);
}

void World::cut(size_t agent, size_t place, bool is_cut) {
  const std::pair key(agent, place);
  if (!is_cut) {
    if (cuts_.erase(key) > 0) healed_[key] = now_;
    return;
  }
  if (!cuts_.emplace(key, now_).second) return;
  // Both sides find out by their keepalives.
  at(now_ + kDead, [this, key, since = now_] {
    const auto found = cuts_.find(key);
    if (found == cuts_.end() || found->second != since) return;
    std::vector<uint64_t> dead;
    for (const auto& [id, connection] : connections_) {
      if (connection.agent == key.first && connection.place == key.second) dead.push_back(id);
    }
    for (const uint64_t id : dead) connection_lost(id);
  });
}

void World::cut_peers(size_t one, size_t other, bool is_cut) {
  for (const std::pair key : {std::pair(one, other), std::pair(other, one)}) {
    if (is_cut) {
      peer_cuts_.insert(key);
    } else {
      peer_cuts_.erase(key);
    }
  }
}

void World::slow(size_t agent, size_t place, Duration latency) {
  slow_[{agent, place}] = latency;
}

void World::set_controllers(bool up) {
  controllers_ = up;
}

void World::roll_out() {
  ++generation_;
  const size_t before = places();
  for (size_t i = 0; i < options_.proxies; ++i) start(before + i);
  for (size_t place = 0; place < before; ++place) {
    at(now_ + 20s + 10s * place, [this, place] { drain(place, false); });
  }
}

void World::heal() {
  for (const auto& [key, since] : cuts_) healed_[key] = now_;
  cuts_.clear();
  slow_.clear();
  peer_cuts_.clear();
  controllers_ = true;
  bool is_any_current = false;
  for (const auto& one : processes_) {
    if (one && !one->drain.is_draining()) is_any_current = true;
  }
  for (size_t place = 0; !is_any_current && place < options_.proxies; ++place) start(place);
}

Duration World::latency(size_t agent, size_t place) const {
  const auto found = slow_.find({agent, place});
  if (found != slow_.end()) return found->second;
  return 1ms + 1ms * ((agent * 7 + place * 13) % 40);
}

void World::to_agent(uint64_t id, std::function<void(Agent&, Connection&)> what, Time sent) {
  Connection* connection = find(id);
  if (connection == nullptr) return;
  connection->agent_reads =
      std::max(connection->agent_reads, sent + latency(connection->agent, connection->place));
  at(connection->agent_reads, [this, id, what = std::move(what)] {
    Connection* there = find(id);
    if (there == nullptr || !there->agent_open) return;
    if (is_cut(there->agent, there->place)) return to_agent(id, what, now_ + 300ms);
    what(agents_[there->agent], *there);
  });
}

void World::to_proxy(uint64_t id, std::function<void(Process&, Connection&)> what, Time sent) {
  Connection* connection = find(id);
  if (connection == nullptr) return;
  connection->proxy_reads =
      std::max(connection->proxy_reads, sent + latency(connection->agent, connection->place));
  at(connection->proxy_reads, [this, id, what = std::move(what)] {
    Connection* there = find(id);
    if (there == nullptr) return;
    Process* process = running(there->process);
    if (process == nullptr) return;
    if (is_cut(there->agent, there->place)) return to_proxy(id, what, now_ + 300ms);
    what(*process, *there);
  });
}

std::optional<Time> World::reachable_since(size_t agent, size_t place) const {
  const Process* process = processes_[place].get();
  if (process == nullptr || process->drain.is_draining() || is_cut(agent, place)) {
    return std::nullopt;
  }
  const auto healed = healed_.find({agent, place});
  return std::max(process->started, healed == healed_.end() ? process->started : healed->second);
}

bool World::works(const Connection& connection) const {
  return connection.at_proxy != 0 && connection.process != 0 && connection.agent_open &&
         connection.told && !connection.leaving && !is_cut(connection.agent, connection.place);
}

size_t World::working(size_t agent) const {
  size_t count = 0;
  for (const uint64_t id : agents_[agent].connections | std::views::values) {
    if (works(connections_.at(id))) ++count;
  }
  return count;
}

}  // namespace holdfast::tunnel::fleet
