// The agents of the simulated pair: they say to a half what they have seen, and do what it says.
#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "ha/pair_world.h"

namespace holdfast::ha::sim {

using namespace std::chrono_literals;

void World::agent_turn(size_t index) {
  Agent& agent = agents_[index];
  // Now and then without a reason: who listens to one half only sees no epoch end.
  if (!std::exchange(agent.was_told, false) || rng_.below(3) == 0) agent.target = 1 - agent.target;
  const size_t target = agent.target;
  if (agent.guard) {
    post(kFirstAgent + index, target, [this, index, target, known = agent.guard->highest()] {
      in_process(target, 0,
                 [this, index, target, known] { on_agent(nodes_[target], index, known); });
    });
  }
  after(50ms + rng_.below(Duration(400ms)), [this, index] { agent_turn(index); });
}

// As PairService::check_epoch() and enter(); an order is given whether there is a lease or not, as
// by a stream that was opened before.
void World::on_agent(Node& node, size_t agent, Epoch known) {
  const size_t index = index_of(node);
  if (known > node.half->protocol().promised()) {
    return carry(node, node.half->on_later_epoch(known, local(index)));
  }
  carry(node, node.half->on_client(local(index)).actions);
  if (!node.half->is_active()) return;
  const Epoch epoch = node.half->protocol().epoch();
  post(index, kFirstAgent + agent, [this, agent, epoch, life = agents_[agent].life] {
    if (agents_[agent].life == life) on_order(agent, epoch);
  });
}

// As node::FenceService::admit().
void World::on_order(size_t index, Epoch epoch) {
  Agent& agent = agents_[index];
  if (!agent.guard) return;
  switch (agent.guard->judge(epoch)) {
    case rpc::EpochGuard::Verdict::Over:
      return;
    case rpc::EpochGuard::Verdict::Rises:
      agent.kept = epoch;
      agent.guard->raise(epoch);
      break;
    case rpc::EpochGuard::Verdict::Known:
      break;
  }
  agent.was_told = true;
  checks_.on_obeyed(index, epoch);
}

bool World::is_obeyed() const {
  const std::optional<size_t> half = active();
  const Epoch epoch = half ? nodes_[*half].half->protocol().epoch() : 0;
  return std::ranges::all_of(std::views::iota(size_t{0}, kAgents),
                             [&](size_t agent) { return checks_.obeyed(agent) == epoch; });
}

void World::restart_agent(size_t index, Duration down) {
  Agent& agent = agents_[index];
  if (!agent.guard) return;
  say(fmt::format("agent {} is restarted", index));
  agent.guard.reset();
  agent.life += 1;
  after(down, [this, index] {
    Agent& mine = agents_[index];
    mine.guard.emplace(has(Bug::FenceForgets) ? 0 : mine.kept);
  });
}

}  // namespace holdfast::ha::sim
