// Two proxies, two agents and an application, real processes, for tests of what hostile peers do to
// them. Beside each attack goes traffic that is counted record by record. There are also identities
// without a process, for the attackers: agent `evil`, and proxy `px-evil`, whom the others know.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "e2e/hostile_peer.h"
#include "e2e/tunnel_app.h"
#include "e2e/tunnel_fleet.h"
#include "e2e/tunnel_ledger.h"

namespace holdfast::test {

struct HostileWorld {
  HostileWorld();

  TunnelTestApp app;
  TunnelFleet fleet{{"presence.proxy_ttl=1h", "presence.agent_ttl=1m"}};
  uint16_t sni = 0;    // of px-0, for app and bait
  uint16_t small = 0;  // the TCP port of a proxy, px-small, that takes 200 connections
};

// Clients that have nothing to do with what goes on. Ends with what became of them.
class Bystanders {
 public:
  // Of the proxy that is attacked; `victim` is whose memory is watched.
  Bystanders(HostileWorld& world, std::string victim, std::vector<uint16_t> ports);

  // Expects that nobody was lost, nobody waited long, and that the victim runs and has not grown by
  // more than that. Prints the ledger.
  void expect_unharmed(const std::string& what, size_t most_mebibytes = 64);

 private:
  HostileWorld& world_;
  std::string victim_;
  size_t memory_before_;
  Traffic traffic_;
};

class Hostile : public testing::Test {
 protected:
  void SetUp() override;

  static HostileWorld& world();
  // The value of a sample of a node's /metrics, as `name{label="x"}`; 0 if there is none.
  double metric(const std::string& node, const std::string& sample);
  // The sum over all its labels.
  double sum(const std::string& node, const std::string& name);
  testing::AssertionResult grows(const std::string& node, const std::string& sample, double before,
                                 double least = 1);
  // Waits until the sum over all labels is as large: a node publishes its metrics once a second.
  testing::AssertionResult comes_to(const std::string& node, const std::string& name, double least);
  // Lines of a node's log that have this in them.
  size_t lines(const std::string& node, const std::string& text);
  Bystanders bystanders(const std::string& victim = "px-0");
  uint16_t tunnel_port() const { return fleet.ports("px-0").tunnel; }
  uint16_t bait_port() const { return fleet.ports("px-0").ingress[1]; }
  Papers evil() const { return papers_in(fleet.data_dir("evil")); }
  Papers evil_proxy() const { return papers_in(fleet.data_dir("px-evil")); }
  // A tunnel of `evil` to px-0 that was welcomed, exposing the service `bait`. Null if it was not:
  // `why_not` is then the code of the refusal, or the step that failed.
  std::unique_ptr<HostilePeer> evil_tunnel(std::string* why_not = nullptr);

  TunnelFleet& fleet = world().fleet;
};

size_t memory_of(pid_t process);
size_t peak_memory_of(pid_t process);

}  // namespace holdfast::test
