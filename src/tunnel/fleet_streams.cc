// The clients of the simulated fleet: streams through some proxy to some agent.
#include <ranges>

#include "tunnel/fleet_world.h"

namespace holdfast::tunnel::fleet {

using namespace std::chrono_literals;

void World::clients_per_second(double rate) {
  clients_ = true;
  client_comes(std::chrono::duration_cast<Duration>(std::chrono::duration<double>(1 / rate)));
}

void World::client_comes(Duration every) {
  if (!clients_) return;
  open_stream();
  at(now_ + every / 2 + rng_.below(every), [this, every] { client_comes(every); });
}

Connection* World::way(Process& ingress, const route::Choice& choice, Process*& holder) {
  holder = &ingress;
  if (!choice.via.empty()) {
    const auto peer = std::ranges::find_if(processes_, [&](const auto& one) {
      return one && one->facts.name == choice.via && one->takes_clients &&
             !peer_cuts_.contains({ingress.place, one->place});
    });
    if (peer == processes_.end()) return nullptr;
    holder = peer->get();
  }
  const std::optional<TunnelId> tunnel = holder->table.select(choice.agent);
  if (!tunnel) return nullptr;
  Connection& connection = connections_.at(holder->tunnels.at(*tunnel));
  return works(connection) ? &connection : nullptr;
}

void World::open_stream() {
  std::vector<Process*> open;
  for (const auto& one : processes_) {
    if (one && one->takes_clients) open.push_back(one.get());
  }
  if (open.empty()) return;
  Process& ingress = *open[rng_.below(open.size())];
  const std::string service =
      rng_.below(2) == 0 ? "web" : "of-" + agents_[rng_.below(agents_.size())].name;
  ++stats_.streams;
  for (const route::Choice& choice : ingress.routes.choose(service, {}, 3)) {
    Process* holder = nullptr;
    Connection* connection = way(ingress, choice, holder);
    if (connection == nullptr) continue;
    const uint64_t id = ++last_stream_;
    const Time ends = now_ + 10ms + rng_.below(options_.longest_stream);
    streams_[id] = {.id = id,
                    .agent = connection->agent,
                    .connection = connection->id,
                    .ingress = ingress.number,
                    .holder = holder->number,
                    .ends = ends};
    ingress.routes.stream_opened(agents_[connection->agent].name);
    holder->table.stream_opened(connection->at_proxy);
    connection->streams.insert(id);
    ingress.streams.insert(id);
    holder->streams.insert(id);
    at(ends, [this, id] { end_stream(id, false); });
    return;
  }
  ++stats_.unreachable;
}

void World::end_stream(uint64_t id, bool lost) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  const Stream stream = found->second;
  streams_.erase(found);
  if (lost) ++stats_.lost;
  Connection* connection = find(stream.connection);
  if (Process* ingress = running(stream.ingress)) {
    ingress->routes.stream_closed(agents_[stream.agent].name);
    ingress->streams.erase(id);
    if (ingress->drain.is_draining()) pump_drain(*ingress);
  }
  if (Process* holder = running(stream.holder)) {
    holder->streams.erase(id);
    if (connection != nullptr) holder->table.stream_closed(connection->at_proxy);
    if (holder->drain.is_draining()) pump_drain(*holder);
  }
  if (connection == nullptr) return;
  connection->streams.erase(id);
  end_if_drained(*connection);
}

}  // namespace holdfast::tunnel::fleet
