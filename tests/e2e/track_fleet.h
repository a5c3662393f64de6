// A controller, an agent that counts in the kernel, applications in three zones and clients in the
// tracked cgroup: real processes in a network of their own. The cgroup and the pins go when the
// test ends; a cgroup that a killed test left is removed by the next one.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "e2e/tunnel_fleet.h"
#include "support/child_process.h"
#include "support/temp_dir.h"

namespace holdfast::test {

// The virtual IP of "web" in the tests, port 80.
inline constexpr const char* kWebIp = "10.96.0.1";

class TrackFleet {
 public:
  // Why none of this can be on this machine; empty if it can. Leaves the machine's network the
  // first time, so it is called before there are threads.
  static std::string why_not();

  TrackFleet();
  ~TrackFleet();
  TrackFleet(const TrackFleet&) = delete;
  TrackFleet& operator=(const TrackFleet&) = delete;

  TunnelFleet& cluster() { return cluster_; }
  const std::string& pins() const { return pins_; }
  const std::string& cgroup() const { return cgroup_; }

  // holdfastd track VERB, with the pins and the cgroup of this fleet.
  ProgramOutcome track(const std::string& verb, const Arguments& more = {}) const;
  void load();  // aborts unless it succeeds
  // Takes away the one program that sees connections end. False if the kernel keeps it for 10 s.
  bool detach_sockops() const;
  // An agent of zone "a"; `more` as --set pairs. Another start of the same replaces it.
  void start_agent(const Arguments& more = {});
  void kill_agent() { cluster_.process(kAgent).kill(); }
  void add_app(const std::string& name);
  uint16_t port_of(const std::string& app) const { return apps_.at(app).port; }
  // Service "web" behind kWebIp with one application of each zone ("a", "b", "c"), unless others
  // are named. `more` is added to the spec, as "zone_capacity: {a: 2}".
  void apply_web(const std::string& more = "",
                 const std::map<std::string, std::string>& app_of_zone = {
                     {"a", "a"}, {"b", "b"}, {"c", "c"}});
  // The kernel translates "web" to these applications, as clients see it. False after 15 s.
  bool answers(const std::string& app);

  // In the tracked cgroup.
  Arguments inside(Arguments command) const;
  ProgramOutcome run_inside(Arguments command) const;
  // What curl gets from the virtual IP.
  std::string curl() const;

  std::string metrics() const;  // of the agent
  std::string ready() const;    // /readyz of the agent, with its status line
  // The sum of the series of this name that have all these texts among their labels; nothing if
  // there is none.
  std::optional<double> metric(const std::string& name, const Arguments& labels = {}) const;
  // "opened/closed/active" of web in that zone.
  std::string counts(const std::string& zone) const;
  bool comes_to(const std::string& zone, const std::string& counts) const;
  std::string agent_log() const { return cluster_.log(kAgent); }

 private:
  static constexpr const char* kAgent = "edge-1";
  struct App {
    uint16_t port = 0;
    std::unique_ptr<ChildProcess> process;
  };
  std::string ask_agent(const std::string& path) const;

  TunnelFleet cluster_;
  std::string cgroup_;
  std::string pins_;
  std::string health_;
  bool has_agent_ = false;
  std::map<std::string, App> apps_;
};

// A client that holds connections; ask() has all of them ask their peer again.
class Holder {
 public:
  Holder(const TrackFleet& fleet, int count, Duration between = Duration::zero());
  ~Holder() { end(); }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;
  // The names that peers gave, "refused" for who was not let in.
  const std::vector<std::string>& names() const { return names_; }
  std::vector<std::string> ask();
  size_t count(const std::string& name) const;
  void end();  // SIGKILL

 private:
  std::vector<std::string> wait_for_names();

  TempDir dir_;
  size_t read_ = 0;  // lines of its output
  int input_ = -1;
  std::vector<std::string> names_;
  std::unique_ptr<ChildProcess> process_;
};

}  // namespace holdfast::test
