// Which agents a proxy can reach for a service, and which of them is tried first.
//
//   own tunnels ──put("")──┐                       1 same zone, own tunnel
//                          ├─► by service ─choose─► 2 same zone, by a peer     within a class:
//                          least
//   peers ──put("edge-2")──┘                       3 other zone, own tunnel    streams, then turns
//                                                  4 other zone, by a peer
//
// Each agent is listed once by its best way, then the other ways of the same agents follow: what
// one agent refuses another may accept, and only then is a second way to the first worth a try.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace holdfast::route {

using Labels = std::map<std::string, std::string, std::less<>>;

// Given by the proxy from the agent's certificate. Nothing that an agent says of itself under
// "holdfast." counts.
inline constexpr std::string_view kNameLabel = "holdfast.name";
inline constexpr std::string_view kZoneLabel = "holdfast.zone";

// What is known of an agent.
struct AgentFacts {
  std::string name{};
  std::string zone{};
  Labels labels{};
  std::vector<std::string> healthy{};  // services it exposes that answer now
  // Those that do not, and why. Nobody is sent there; who asks in vain is told.
  std::map<std::string, std::string, std::less<>> unhealthy{};
  bool operator==(const AgentFacts&) const = default;
};

// Whether every label of the selector is the agent's; an empty one matches all.
bool matches(const Labels& selector, const AgentFacts& agent);

// One thing to try.
struct Choice {
  std::string agent{};
  std::string zone{};
  std::string via{};  // the peer proxy that holds its tunnel; empty: a tunnel of our own
  bool operator==(const Choice&) const = default;
};

class Routes {
 public:
  explicit Routes(std::string own_zone);
  ~Routes();
  Routes(const Routes&) = delete;
  Routes& operator=(const Routes&) = delete;

  // An agent can be reached that way: an empty `via` is a tunnel of our own. The facts said by an
  // own tunnel go before those said by peers.
  void put(std::string_view via, const AgentFacts& facts);
  void remove(std::string_view via, std::string_view agent);
  // A peer whose link is down is not chosen, though what it holds is still remembered.
  void set_usable(std::string_view via, bool usable);

  // What to try, best first; empty: nobody carries it now.
  std::vector<Choice> choose(std::string_view service, const Labels& selector, size_t most);
  // The same in one zone alone.
  std::vector<Choice> choose_in(const std::string& zone, std::string_view service,
                                const Labels& selector, size_t most);
  // The zones that choose_in() would find somebody in, in no order.
  std::vector<std::string> zones(std::string_view service, const Labels& selector);

  // Why choose() finds nobody though agents expose the service: "edge-1: HTTP 500; edge-2: timed
  // out; and 3 others"; empty if none that it selects does.
  std::string why_unhealthy(std::string_view service, const Labels& selector) const;

  // Streams to an agent, whichever way, while they run.
  void stream_opened(std::string_view agent);
  void stream_closed(std::string_view agent);
  uint64_t streams(std::string_view agent) const;

  const AgentFacts* find(std::string_view agent) const;
  size_t agent_count() const { return agents_.size(); }

 private:
  struct Way;
  struct Agent;
  struct Service;
  struct Ranked;

  Agent& agent_of(std::string_view name);
  void set_facts(Agent& agent, const AgentFacts& facts);
  void list(Agent& agent);
  void unlist(Agent& agent);
  void ways_changed(Agent& agent);
  bool is_usable(const Way& way) const;
  const Way* best_way(const Agent& agent, uint64_t turn) const;
  Service* select(std::string_view name, const Labels& selector);
  std::vector<Ranked> rank(Service& service, size_t most, const std::string* zone) const;
  std::vector<Choice> list_best(const std::vector<Ranked>& best, size_t most) const;

  std::string own_zone_;
  std::unordered_map<std::string, std::unique_ptr<Agent>> agents_;
  std::unordered_map<std::string, std::unique_ptr<Service>> services_;
  std::map<std::string, std::map<std::string, const Agent*>, std::less<>> unhealthy_;  // by service
  std::set<std::string, std::less<>> unusable_;                                        // peers
};

}  // namespace holdfast::route
