#include "tunnel/tunnel_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "base/check.h"
#include "base/reason.h"
#include "tunnel/exposed_facts.h"

namespace holdfast::tunnel {

struct TunnelTable::Agent {
  route::AgentFacts facts;          // what the newest tunnel that stays says
  std::vector<TunnelId> tunnels{};  // oldest first
  uint64_t version = 0;             // of the last change that peers are told; 0: not held
};

TunnelTable::TunnelTable(TunnelTableOptions options, route::Routes& routes)
    : options_(options), routes_(routes) {}
TunnelTable::~TunnelTable() = default;

TunnelRow* TunnelTable::row(TunnelId id) {
  const auto found = tunnels_.find(id);
  return found == tunnels_.end() ? nullptr : &found->second;
}

TunnelTable::Agent& TunnelTable::agent_of(const TunnelRow& tunnel) {
  const auto found = agents_.find(tunnel.agent);
  HF_CHECK(found != agents_.end(), "the agent of a tunnel");
  return *found->second;
}

Result<TunnelId> TunnelTable::add(const NewTunnel& tunnel, Time now) {
  if (tunnels_.size() >= options_.max_tunnels) {
    ++stats_.refused_all;
    return coded(absl::StatusCode::kResourceExhausted, "HF2104",
                 fmt::format("this proxy holds {} tunnels already", tunnels_.size()));
  }
  std::unique_ptr<Agent>& agent = agents_[tunnel.agent];
  if (agent == nullptr) agent = std::make_unique<Agent>();
  const auto leaving = static_cast<size_t>(std::ranges::count_if(
      agent->tunnels, [this](TunnelId id) { return tunnels_.at(id).leaving; }));
  if (agent->tunnels.size() - leaving >= options_.max_per_agent ||
      leaving >= options_.max_leaving_per_agent) {
    ++stats_.refused_agent;
    return coded(
        absl::StatusCode::kResourceExhausted, "HF2105",
        fmt::format("agent {} has {} tunnels here already", tunnel.agent, agent->tunnels.size()));
  }
  route::AgentFacts facts = facts_of({.name = tunnel.agent, .zone = tunnel.zone}, tunnel.exposed);
  const TunnelId id = ++last_id_;
  said_[id] = std::move(facts);
  agent->tunnels.push_back(id);
  TunnelRow& row = tunnels_[id];
  row = {.id = id,
         .agent = tunnel.agent,
         .zone = tunnel.zone,
         .boot = tunnel.boot,
         .since = now,
         .last_heard = now};
  look_again(row, now + options_.silent_after);
  ++stats_.added;
  update(*agent, listen_to_newest(*agent));
  return id;
}

void TunnelTable::remove(TunnelId id) {
  const auto found = tunnels_.find(id);
  if (found == tunnels_.end()) return;
  Agent& agent = agent_of(found->second);
  std::erase(agent.tunnels, id);
  streams_ -= found->second.streams;
  silences_.erase({found->second.looked_at_next, id});
  tunnels_.erase(found);
  said_.erase(id);
  ++stats_.removed;
  update(agent, listen_to_newest(agent));
  if (agent.tunnels.empty()) agents_.erase(std::string(agent.facts.name));
}

void TunnelTable::heard(TunnelId id, Time when) {
  TunnelRow* tunnel = row(id);
  if (tunnel == nullptr || (tunnel->heard && when <= tunnel->last_heard)) return;
  tunnel->last_heard = std::max(tunnel->last_heard, when);
  if (!tunnel->valid) {
    tunnel->valid = true;
    ++stats_.revived;
  }
  if (tunnel->heard) return;
  tunnel->heard = true;
  update(agent_of(*tunnel), false);
}

void TunnelTable::exposed(TunnelId id, const v1::Exposed& exposed) {
  const TunnelRow* tunnel = row(id);
  if (tunnel == nullptr) return;
  Agent& agent = agent_of(*tunnel);
  said_[id] = facts_of({.name = tunnel->agent, .zone = tunnel->zone}, exposed);
  update(agent, listen_to_newest(agent));
}

// Two processes may have one name for a while: an earlier one that is leaving, or a copy. When the
// newer one goes, what the other said counts again.
bool TunnelTable::listen_to_newest(Agent& agent) {
  if (agent.tunnels.empty()) return false;
  TunnelId newest = agent.tunnels.back();
  for (const TunnelId id : agent.tunnels) {
    if (!tunnels_.at(id).leaving) newest = id;
  }
  const bool changed = agent.facts != said_.at(newest);
  if (changed) agent.facts = said_.at(newest);
  return changed;
}

void TunnelTable::leave(TunnelId id) {
  TunnelRow* tunnel = row(id);
  if (tunnel == nullptr || tunnel->leaving) return;
  tunnel->leaving = true;
  Agent& agent = agent_of(*tunnel);
  update(agent, listen_to_newest(agent));
}

bool TunnelTable::found_dead(TunnelId id) {
  TunnelRow* tunnel = row(id);
  if (tunnel == nullptr) return false;
  if (tunnel->valid) ++stats_.invalidated;
  tunnel->valid = false;
  return tunnel->streams == 0;
}

std::optional<TunnelId> TunnelTable::select(std::string_view agent) {
  const auto found = agents_.find(std::string(agent));
  if (found == agents_.end()) return std::nullopt;
  std::optional<TunnelId> invalid;
  for (const TunnelId id : found->second->tunnels | std::views::reverse) {
    const TunnelRow& tunnel = tunnels_.at(id);
    if (!tunnel.heard || tunnel.leaving) continue;
    if (tunnel.valid) return id;
    if (!invalid) invalid = id;
  }
  if (invalid) ++stats_.last_resort;
  return invalid;
}

void TunnelTable::stream_opened(TunnelId id) {
  TunnelRow* tunnel = row(id);
  if (tunnel == nullptr) return;
  ++tunnel->streams;
  ++streams_;
}

void TunnelTable::stream_closed(TunnelId id) {
  TunnelRow* tunnel = row(id);
  if (tunnel == nullptr) return;  // its streams went with it
  HF_CHECK(tunnel->streams > 0, "a stream that was opened");
  --tunnel->streams;
  --streams_;
}

void TunnelTable::look_again(TunnelRow& tunnel, Time at) {
  silences_.erase({tunnel.looked_at_next, tunnel.id});
  tunnel.looked_at_next = at;
  silences_.emplace(at, tunnel.id);
}

std::vector<TunnelId> TunnelTable::on_tick(Time now) {
  std::vector<TunnelId> to_close;
  while (!silences_.empty() && silences_.begin()->first <= now) {
    TunnelRow& tunnel = tunnels_.at(silences_.begin()->second);
    const Time silent = tunnel.last_heard + options_.silent_after;
    const Time over = tunnel.last_heard + options_.close_after;
    if (now < silent) {
      look_again(tunnel, silent);
      continue;
    }
    if (tunnel.valid) ++stats_.invalidated;
    tunnel.valid = false;
    if (now >= over && tunnel.streams == 0) to_close.push_back(tunnel.id);
    look_again(tunnel, now < over ? over : now + options_.silent_after);
  }
  return to_close;
}

std::optional<Time> TunnelTable::next_deadline() const {
  if (silences_.empty()) return std::nullopt;
  return silences_.begin()->first;
}

void TunnelTable::set_silence(Duration silent_after, Duration close_after) {
  HF_CHECK(silent_after > Duration::zero(), "a time of silence");
  options_.silent_after = silent_after;
  options_.close_after = close_after;
  for (TunnelRow& tunnel : tunnels_ | std::views::values) {
    look_again(tunnel, tunnel.last_heard + silent_after);
  }
}

std::optional<TunnelRow> TunnelTable::find(TunnelId id) const {
  const auto found = tunnels_.find(id);
  if (found == tunnels_.end()) return std::nullopt;
  return found->second;
}

std::vector<TunnelRow> TunnelTable::rows() const {
  const auto rows = tunnels_ | std::views::values;
  return {rows.begin(), rows.end()};
}

std::vector<TunnelId> TunnelTable::tunnels() const {
  const auto ids = tunnels_ | std::views::keys;
  return {ids.begin(), ids.end()};
}

std::vector<TunnelRow> TunnelTable::of(std::string_view agent) const {
  std::vector<TunnelRow> rows;
  const auto found = agents_.find(std::string(agent));
  if (found == agents_.end()) return rows;
  for (const TunnelId id : found->second->tunnels) rows.push_back(tunnels_.at(id));
  return rows;
}

// What peers and routes are told.

void TunnelTable::update(Agent& agent, bool facts_changed) {
  const bool held = std::ranges::any_of(agent.tunnels, [&](TunnelId id) {
    const TunnelRow& tunnel = tunnels_.at(id);
    return tunnel.heard && !tunnel.leaving;
  });
  const bool was_held = agent.version != 0;
  if (held && (!was_held || facts_changed)) note_held(agent);
  if (!held && was_held) note_gone(agent);
}

void TunnelTable::note_held(Agent& agent) {
  if (const auto gone = gone_at_.find(agent.facts.name); gone != gone_at_.end()) {
    gone_.erase(gone->second);
    gone_at_.erase(gone);
  }
  changes_.erase(agent.version);
  agent.version = ++version_;
  changes_.emplace(version_, &agent);
  routes_.put("", agent.facts);
}

void TunnelTable::note_gone(Agent& agent) {
  changes_.erase(agent.version);
  agent.version = 0;
  gone_.emplace(++version_, agent.facts.name);
  gone_at_[agent.facts.name] = version_;
  routes_.remove("", agent.facts.name);
  if (gone_.size() <= options_.max_gone) return;
  forgotten_ = gone_.begin()->first;
  gone_at_.erase(gone_.begin()->second);
  gone_.erase(gone_.begin());
}

std::optional<v1::Holding> TunnelTable::next_holding(Cursor& cursor, size_t max_bytes) const {
  v1::Holding holding;
  const uint64_t known_from = std::max(cursor.seen.value_or(0), cursor.full_until.value_or(0));
  if (!cursor.seen || known_from < forgotten_) {
    cursor = {.seen = 0, .full_until = version_};
    holding.set_full(true);
  }
  // Who left before the list began was not in it.
  auto gone = gone_.upper_bound(std::max(*cursor.seen, cursor.full_until.value_or(0)));
  auto held = changes_.upper_bound(*cursor.seen);
  size_t bytes = 16;
  for (; held != changes_.end() || gone != gone_.end();) {
    const bool departure =
        held == changes_.end() || (gone != gone_.end() && gone->first < held->first);
    v1::HeldAgent agent;
    if (!departure) agent = to_held(held->second->facts);
    const size_t size = 8 + (departure ? gone->second.size() : agent.ByteSizeLong());
    if (bytes + size > max_bytes && bytes > 16) break;
    bytes += size;
    cursor.seen = departure ? gone->first : held->first;
    if (departure) {
      holding.add_gone((gone++)->second);
    } else {
      *holding.add_agents() = std::move(agent);
      ++held;
    }
  }
  if (bytes == 16 && !cursor.full_until) return std::nullopt;
  const bool more =
      cursor.full_until && held != changes_.end() && held->first <= *cursor.full_until;
  holding.set_more(more);
  if (!more && cursor.full_until) {
    cursor.seen = std::max(*cursor.seen, *cursor.full_until);
    cursor.full_until.reset();
  }
  return holding;
}

}  // namespace holdfast::tunnel
