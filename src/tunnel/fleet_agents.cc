// The agents of the simulated fleet: what their pools ask for is carried out on the network.
#include <fmt/format.h>

#include <charconv>

#include "tunnel/fleet_world.h"

namespace holdfast::tunnel::fleet {

using namespace std::chrono_literals;

void World::feed(size_t index, const std::function<Actions(AgentPool&)>& input) {
  Agent& agent = agents_[index];
  for (const Action& action : input(*agent.pool)) carry_out(index, action);
  const std::optional<Time> next = agent.pool->next_deadline();
  if (!next) return;
  const Time when = std::max(*next, now_ + 1ms);
  if (agent.tick_at > now_ && agent.tick_at <= when) return;
  agent.tick_at = when;
  at(when, [this, index, when] {
    if (agents_[index].tick_at != when) return;
    feed(index, [&](AgentPool& pool) { return pool.on_tick(now_); });
  });
}

void World::carry_out(size_t index, const Action& action) {
  if (const auto* one = std::get_if<Dial>(&action)) return dial(index, *one);
  const auto* drain = std::get_if<Drain>(&action);
  const auto* close = std::get_if<Close>(&action);
  if (drain == nullptr && close == nullptr) return;
  const auto found = agents_[index].connections.find(drain ? drain->tunnel : close->tunnel);
  if (found == agents_[index].connections.end()) return;
  Connection& connection = connections_.at(found->second);
  if (drain != nullptr) {
    drain_at_agent(connection);
  } else {
    connection.told = true;
    close_at_agent(connection);
  }
}

void World::dial(size_t index, const Dial& dial) {
  ++stats_.dials;
  const uint64_t id = ++last_connection_;
  Connection& connection = connections_[id];
  connection = {.id = id, .agent = index, .at_agent = dial.tunnel};
  agents_[index].connections[dial.tunnel] = id;
  const std::string_view address = dial.address;
  if (address.starts_with("lb:")) {
    std::vector<size_t> open;
    for (size_t place = 0; place < places(); ++place) {
      if (processes_[place] && processes_[place]->takes_tunnels) open.push_back(place);
    }
    connection.place = open.empty() ? places() : open[rng_.below(open.size())];
  } else {
    const std::string_view number = address.substr(6, address.find(':') - 6);
    std::from_chars(number.data(), number.data() + number.size(), connection.place);
  }
  at(now_ + dial.timeout, [this, id] {
    dial_ended(id, [&](AgentPool& pool, TunnelId tunnel) { return pool.on_failed(tunnel, now_); });
  });
  at(now_ + latency(index, connection.place), [this, id] { knock(id); });
}

void World::knock(uint64_t id) {
  Connection* connection = find(id);
  if (connection == nullptr || !connection->agent_open) return;
  if (is_cut(connection->agent, connection->place)) return;  // until its time is over
  if (Process* there = process(connection->place)) {
    connection->process = there->number;
    there->backlog.push_back(id);
    return pump(*there);
  }
  at(now_ + latency(connection->agent, connection->place), [this, id] {
    dial_ended(id, [&](AgentPool& pool, TunnelId tunnel) { return pool.on_failed(tunnel, now_); });
  });
}

// Every end of a dial but success.
void World::dial_ended(uint64_t id, const std::function<Actions(AgentPool&, TunnelId)>& how) {
  Connection* connection = find(id);
  if (connection == nullptr || connection->told) return;
  connection->told = true;
  const size_t agent = connection->agent;
  const TunnelId tunnel = connection->at_agent;
  close_at_agent(*connection);
  feed(agent, [&](AgentPool& pool) { return how(pool, tunnel); });
}

void World::close_at_agent(Connection& connection) {
  if (!connection.agent_open) return;
  connection.agent_open = false;
  agents_[connection.agent].connections.erase(connection.at_agent);
  for (const uint64_t stream : std::set(connection.streams)) end_stream(stream, true);
  const uint64_t id = connection.id;
  to_proxy(id, [this](Process& there, Connection& gone) { gone_at_proxy(there, gone); }, now_);
  at(now_, [this, id] { forget_if_over(id); });
}

void World::drain_at_agent(Connection& connection) {
  connection.leaving = true;
  to_proxy(
      connection.id, [](Process& there, Connection& left) { there.table.leave(left.at_proxy); },
      now_);
  end_if_drained(connection);
}

void World::end_if_drained(Connection& connection) {
  if (!connection.leaving || !connection.streams.empty() || !connection.agent_open) return;
  at(now_, [this, id = connection.id] {
    Connection* drained = find(id);
    if (drained == nullptr || !drained->agent_open) return;
    const size_t agent = drained->agent;
    const TunnelId tunnel = drained->at_agent;
    close_at_agent(*drained);
    feed(agent, [&](AgentPool& pool) { return pool.on_drained(tunnel, now_); });
  });
}

// For both sides, as far as they do not know yet.
void World::connection_lost(uint64_t id) {
  Connection* connection = find(id);
  if (connection == nullptr) return;
  if (Process* there = running(connection->process)) gone_at_proxy(*there, *connection);
  connection->process = 0;
  if (connection->agent_open) {
    const size_t agent = connection->agent;
    const TunnelId tunnel = connection->at_agent;
    connection->told = true;
    close_at_agent(*connection);
    feed(agent, [&](AgentPool& pool) { return pool.on_lost(tunnel, now_); });
  }
  forget_if_over(id);
}

void World::forget_if_over(uint64_t id) {
  const Connection* connection = find(id);
  if (connection != nullptr && !connection->agent_open && connection->process == 0) {
    connections_.erase(id);
  }
}

}  // namespace holdfast::tunnel::fleet
