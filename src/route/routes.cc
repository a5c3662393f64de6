#include "route/routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/check.h"

namespace holdfast::route {

namespace {

constexpr std::string_view kReserved = "holdfast.";
// Of agents where a service is unhealthy: looked at, and named.
constexpr size_t kMostLookedAt = 256;
constexpr size_t kMostNamed = 3;

bool has_label(const AgentFacts& agent, const std::string& name, const std::string& value) {
  if (name == kNameLabel) return value == agent.name;
  if (name == kZoneLabel) return value == agent.zone;
  if (name.starts_with(kReserved)) return false;
  const auto label = agent.labels.find(name);
  return label != agent.labels.end() && label->second == value;
}

}  // namespace

bool matches(const Labels& selector, const AgentFacts& agent) {
  return std::ranges::all_of(
      selector, [&](const auto& label) { return has_label(agent, label.first, label.second); });
}

struct Routes::Way {
  std::string via;
  AgentFacts facts;
};

struct Routes::Agent {
  AgentFacts facts;
  std::vector<Way> ways;  // our own first, then by the peer's name
  uint64_t streams = 0;
};

struct Routes::Service {
  struct Entry {
    Agent* agent;
    bool matches;
  };
  std::vector<Entry> entries;                   // agents that expose it, in no order
  std::unordered_map<const Agent*, size_t> at;  // where they are
  Labels selector;                              // that `matches` is about
  uint64_t turn = 0;
};

struct Routes::Ranked {
  // Smaller is better.
  std::tuple<int, uint64_t, size_t> rank;
  const Agent* agent;
  const Way* way;
};

Routes::Routes(std::string own_zone) : own_zone_(std::move(own_zone)) {}
Routes::~Routes() = default;

Routes::Agent& Routes::agent_of(std::string_view name) {
  std::unique_ptr<Agent>& agent = agents_[std::string(name)];
  if (agent == nullptr) {
    agent = std::make_unique<Agent>();
    agent->facts.name = name;
  }
  return *agent;
}

void Routes::put(std::string_view via, const AgentFacts& facts) {
  Agent& agent = agent_of(facts.name);
  const auto place = std::ranges::lower_bound(agent.ways, via, {}, &Way::via);
  if (place != agent.ways.end() && place->via == via) {
    place->facts = facts;
  } else {
    agent.ways.insert(place, {.via = std::string(via), .facts = facts});
  }
  ways_changed(agent);
}

void Routes::remove(std::string_view via, std::string_view name) {
  const auto found = agents_.find(std::string(name));
  if (found == agents_.end()) return;
  std::erase_if(found->second->ways, [&](const Way& way) { return way.via == via; });
  ways_changed(*found->second);
}

void Routes::ways_changed(Agent& agent) {
  if (!agent.ways.empty()) {
    set_facts(agent, agent.ways.front().facts);
    return;
  }
  unlist(agent);
  agent.facts.healthy.clear();
  agent.facts.unhealthy.clear();
  if (agent.streams == 0) agents_.erase(std::string(agent.facts.name));
}

void Routes::set_facts(Agent& agent, const AgentFacts& facts) {
  if (agent.facts == facts) return;
  unlist(agent);
  agent.facts = facts;
  list(agent);
}

void Routes::list(Agent& agent) {
  for (const std::string& name : agent.facts.healthy) {
    std::unique_ptr<Service>& service = services_[name];
    if (service == nullptr) service = std::make_unique<Service>();
    if (!service->at.emplace(&agent, service->entries.size()).second) continue;  // named twice
    service->entries.push_back({&agent, matches(service->selector, agent.facts)});
  }
  for (const auto& [name, why] : agent.facts.unhealthy) {
    unhealthy_[name].emplace(agent.facts.name, &agent);
  }
}

void Routes::unlist(Agent& agent) {
  for (const std::string& name : agent.facts.healthy) {
    const auto found = services_.find(name);
    if (found == services_.end()) continue;
    Service& service = *found->second;
    const auto place = service.at.find(&agent);
    if (place == service.at.end()) continue;
    service.entries[place->second] = service.entries.back();
    service.at[service.entries[place->second].agent] = place->second;
    service.entries.pop_back();
    service.at.erase(&agent);
    if (service.entries.empty()) services_.erase(found);
  }
  for (const auto& [name, why] : agent.facts.unhealthy) {
    const auto found = unhealthy_.find(name);
    if (found == unhealthy_.end()) continue;
    found->second.erase(agent.facts.name);
    if (found->second.empty()) unhealthy_.erase(found);
  }
}

std::string Routes::why_unhealthy(std::string_view service, const Labels& selector) const {
  const auto found = unhealthy_.find(service);
  if (found == unhealthy_.end()) return "";
  std::string out;
  size_t looked_at = 0;
  size_t selected = 0;
  for (const auto& [name, agent] : found->second) {
    if (++looked_at > kMostLookedAt) break;
    if (!matches(selector, agent->facts) || ++selected > kMostNamed) continue;
    const std::string& why = agent->facts.unhealthy.find(service)->second;
    out += fmt::format("{}{}: {}", out.empty() ? "" : "; ", name, why.empty() ? "unhealthy" : why);
  }
  if (selected > kMostNamed) out += fmt::format("; and {} others", selected - kMostNamed);
  return out;
}

void Routes::set_usable(std::string_view via, bool usable) {
  if (usable) {
    if (const auto found = unusable_.find(via); found != unusable_.end()) unusable_.erase(found);
  } else {
    unusable_.emplace(via);
  }
}

bool Routes::is_usable(const Way& way) const {
  return unusable_.empty() || !unusable_.contains(way.via);
}

const Routes::Way* Routes::best_way(const Agent& agent, uint64_t turn) const {
  if (agent.ways.front().via.empty()) return &agent.ways.front();
  for (size_t i = 0; i < agent.ways.size(); ++i) {
    const Way& way = agent.ways[(i + turn) % agent.ways.size()];
    if (is_usable(way)) return &way;
  }
  return nullptr;
}

std::vector<Routes::Ranked> Routes::rank(Service& service, size_t most,
                                         const std::string* only_zone) const {
  std::vector<Ranked> best;  // in order
  const uint64_t turn = service.turn++;
  const size_t count = service.entries.size();
  for (size_t i = 0; i < count; ++i) {
    const auto& [agent, matching] = service.entries[i];
    const bool wanted = matching && (only_zone == nullptr || agent->facts.zone == *only_zone);
    const Way* way = wanted ? best_way(*agent, turn) : nullptr;
    if (way == nullptr) continue;
    const int zone = agent->facts.zone == own_zone_ ? 0 : 2;
    const size_t distance = (i + count - turn % count) % count;
    const Ranked ranked{{zone + (way->via.empty() ? 0 : 1), agent->streams, distance}, agent, way};
    if (best.size() == most && ranked.rank >= best.back().rank) continue;
    if (best.size() == most) best.pop_back();
    best.insert(std::ranges::upper_bound(best, ranked.rank, {}, &Ranked::rank), ranked);
  }
  return best;
}

// The service as it is selected; null if nobody exposes it.
Routes::Service* Routes::select(std::string_view name, const Labels& selector) {
  const auto found = services_.find(std::string(name));
  if (found == services_.end()) return nullptr;
  Service& service = *found->second;
  if (service.selector != selector) {
    service.selector = selector;
    for (auto& [agent, matching] : service.entries) matching = matches(selector, agent->facts);
  }
  return &service;
}

std::vector<Choice> Routes::list_best(const std::vector<Ranked>& best, size_t most) const {
  std::vector<Choice> choices;
  const auto add = [&](const Agent& agent, const Way& way) {
    if (choices.size() == most) return;
    choices.push_back({.agent = agent.facts.name, .zone = agent.facts.zone, .via = way.via});
  };
  for (const Ranked& ranked : best) add(*ranked.agent, *ranked.way);
  for (const Ranked& ranked : best) {
    for (const Way& way : ranked.agent->ways) {
      if (&way != ranked.way && is_usable(way)) add(*ranked.agent, way);
    }
  }
  return choices;
}

std::vector<Choice> Routes::choose(std::string_view name, const Labels& selector, size_t most) {
  Service* service = most == 0 ? nullptr : select(name, selector);
  if (service == nullptr) return {};
  return list_best(rank(*service, most, nullptr), most);
}

std::vector<Choice> Routes::choose_in(const std::string& zone, std::string_view name,
                                      const Labels& selector, size_t most) {
  Service* service = most == 0 ? nullptr : select(name, selector);
  if (service == nullptr) return {};
  return list_best(rank(*service, most, &zone), most);
}

std::vector<std::string> Routes::zones(std::string_view name, const Labels& selector) {
  std::vector<std::string> found;
  const Service* service = select(name, selector);
  if (service == nullptr) return found;
  for (const auto& [agent, matching] : service->entries) {
    const std::string& zone = agent->facts.zone;
    const bool reachable = matching && best_way(*agent, service->turn) != nullptr;
    if (reachable && std::ranges::find(found, zone) == found.end()) found.push_back(zone);
  }
  return found;
}

void Routes::stream_opened(std::string_view agent) {
  ++agent_of(agent).streams;
}

void Routes::stream_closed(std::string_view name) {
  const auto found = agents_.find(std::string(name));
  HF_CHECK(found != agents_.end() && found->second->streams > 0, "a stream that was opened");
  Agent& agent = *found->second;
  if (--agent.streams == 0 && agent.ways.empty()) agents_.erase(found);
}

uint64_t Routes::streams(std::string_view agent) const {
  const auto found = agents_.find(std::string(agent));
  return found == agents_.end() ? 0 : found->second->streams;
}

const AgentFacts* Routes::find(std::string_view agent) const {
  const auto found = agents_.find(std::string(agent));
  if (found == agents_.end() || found->second->ways.empty()) return nullptr;
  return &found->second->facts;
}

}  // namespace holdfast::route
