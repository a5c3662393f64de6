#include "tunnel/peer_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <unordered_map>

#include "base/check.h"
#include "base/reason.h"
#include "tunnel/exposed_facts.h"

namespace holdfast::tunnel {

struct PeerTable::Peer {
  std::string zone{};
  bool linked = false;
  bool had_full = false;                               // on this link
  Time forgotten_at{};                                 // if not linked
  uint64_t list = 0;                                   // which full list is being told
  bool list_is_whole = true;                           // nothing of an earlier list is left
  std::unordered_map<std::string, uint64_t> agents{};  // the list each was last in
};

PeerTable::PeerTable(PeerTableOptions options, route::Routes& routes)
    : options_(options), routes_(routes) {}
PeerTable::~PeerTable() = default;

Status PeerTable::linked(std::string_view name, std::string_view zone) {
  auto found = peers_.find(name);
  if (found == peers_.end()) {
    if (peers_.size() >= options_.max_peers) {
      ++stats_.refused_peers;
      return coded(absl::StatusCode::kResourceExhausted, "HF2106",
                   fmt::format("{} peers are linked already", peers_.size()));
    }
    found = peers_.emplace(std::string(name), Peer{}).first;
  }
  Peer& peer = found->second;
  peer.zone = zone;
  peer.linked = true;
  peer.had_full = false;
  routes_.set_usable(name, true);
  return absl::OkStatus();
}

Status PeerTable::holding(std::string_view name, const v1::Holding& holding) {
  const auto found = peers_.find(name);
  HF_CHECK(found != peers_.end() && found->second.linked, "a linked peer");
  Peer& peer = found->second;
  if (!holding.full() && !peer.had_full) {
    return coded(absl::StatusCode::kInvalidArgument, "HF2107",
                 fmt::format("peer {} told of changes before it told of all", name));
  }
  ++stats_.messages;
  if (holding.full()) {
    peer.had_full = true;
    peer.list_is_whole = false;
    ++peer.list;
  }
  for (const std::string& agent : holding.gone()) drop(found->first, peer, agent);
  for (const v1::HeldAgent& agent : holding.agents()) take(found->first, peer, agent);
  if (!peer.list_is_whole && !holding.more()) sweep(found->first, peer);
  return absl::OkStatus();
}

void PeerTable::take(const std::string& name, Peer& peer, const v1::HeldAgent& agent) {
  if (!check_exposed(agent.exposed()).ok()) {
    ++stats_.dropped_agents;
    return drop(name, peer, agent.name());  // what was known of it is not so any more
  }
  const auto known = peer.agents.find(agent.name());
  if (known != peer.agents.end()) {
    known->second = peer.list;
  } else if (agent.name().size() > kMaxExposedText ||
             peer.agents.size() >= options_.max_agents_per_peer ||
             entries_ >= options_.max_entries) {
    ++stats_.dropped_agents;
    return;
  } else {
    peer.agents.emplace(agent.name(), peer.list);
    ++entries_;
  }
  routes_.put(name, facts_of({.name = agent.name(), .zone = agent.zone()}, agent.exposed()));
}

void PeerTable::drop(const std::string& name, Peer& peer, std::string_view agent) {
  if (peer.agents.erase(std::string(agent)) == 0) return;
  --entries_;
  routes_.remove(name, agent);
}

void PeerTable::sweep(const std::string& name, Peer& peer) {
  std::vector<std::string> left;
  for (const auto& [agent, list] : peer.agents) {
    if (list != peer.list) left.push_back(agent);
  }
  for (const std::string& agent : left) drop(name, peer, agent);
  peer.list_is_whole = true;
}

void PeerTable::lost(std::string_view name, Time now) {
  const auto found = peers_.find(name);
  if (found == peers_.end() || !found->second.linked) return;
  found->second.linked = false;
  found->second.forgotten_at = now + options_.grace;
  routes_.set_usable(name, false);
}

void PeerTable::on_tick(Time now) {
  for (auto peer = peers_.begin(); peer != peers_.end();) {
    if (peer->second.linked || peer->second.forgotten_at > now) {
      ++peer;
      continue;
    }
    for (const auto& [agent, list] : peer->second.agents) routes_.remove(peer->first, agent);
    entries_ -= peer->second.agents.size();
    routes_.set_usable(peer->first, true);  // nothing is left that could be chosen
    ++stats_.forgotten;
    peer = peers_.erase(peer);
  }
}

std::optional<Time> PeerTable::next_deadline() const {
  std::optional<Time> next;
  for (const Peer& peer : peers_ | std::views::values) {
    if (!peer.linked && (!next || peer.forgotten_at < *next)) next = peer.forgotten_at;
  }
  return next;
}

std::vector<std::string> PeerTable::holders(std::string_view agent) const {
  std::vector<std::string> result;
  for (const auto& [name, peer] : peers_) {
    if (peer.linked && peer.agents.contains(std::string(agent))) result.push_back(name);
  }
  return result;
}

bool PeerTable::is_linked(std::string_view peer) const {
  const auto found = peers_.find(peer);
  return found != peers_.end() && found->second.linked;
}

bool PeerTable::is_whole(std::string_view peer) const {
  const auto found = peers_.find(peer);
  return found != peers_.end() && found->second.linked && found->second.had_full &&
         found->second.list_is_whole;
}

std::vector<PeerTable::Row> PeerTable::rows() const {
  std::vector<Row> rows;
  for (const auto& [name, peer] : peers_) {
    rows.push_back(
        {.peer = name, .zone = peer.zone, .linked = peer.linked, .agents = peer.agents.size()});
  }
  return rows;
}

}  // namespace holdfast::tunnel
