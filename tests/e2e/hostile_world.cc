#include "e2e/hostile_world.h"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <sstream>

#include "support/eventually.h"
#include "support/free_ports.h"
#include "support/http_client.h"
#include "support/sanitized.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

constexpr size_t kMebibyte = 1 << 20;

std::string hostile_world_service(const std::string& name) {
  return fmt::format("---\n{}", service_yaml(name, 9000));
}

}  // namespace

size_t memory_of(pid_t process) {
  std::ifstream statm(fmt::format("/proc/{}/statm", process));
  size_t size = 0;
  size_t resident = 0;
  statm >> size >> resident;
  return resident * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

size_t peak_memory_of(pid_t process) {
  std::ifstream status(fmt::format("/proc/{}/status", process));
  std::string word;
  size_t kibibytes = 0;
  while (status >> word && word != "VmHWM:") continue;
  status >> kibibytes;
  return kibibytes * 1024;
}

// From now on.
void forget_peak_memory(pid_t process) {
  std::ofstream(fmt::format("/proc/{}/clear_refs", process)) << "5";
}

HostileWorld::HostileWorld() {
  // A tunnel from every agent to every proxy: to the rogue, too.
  fleet.apply(
      "kind: networking_config\nmetadata: {name: default}\n"
      "spec: {tunnel_strategy: agent_mesh}\n" +
      hostile_world_service("app") + hostile_world_service("bait"));
  sni = free_ports(1)[0];
  fleet.add_proxy("px-0", "a", {"app", "bait"},
                  {"--ingress", fmt::format("sni:127.0.0.1:{}=app,bait", sni)});
  fleet.add_proxy("px-1", "b", {"app"});
  fleet.add_proxy("px-small", "c", {"app"}, {"--set", "proxy.limits.connections=200"});
  small = fleet.ports("px-small").ingress[0];
  fleet.add_proxy("px-evil", "a", {});
  const std::string exposed = fmt::format("app=127.0.0.1:{}", app.port());
  // Who is turned away by the first finds room at the second.
  fleet.add_agent("edge-0", "a", {exposed}, {"--set", "agent.limits.connections=256"});
  fleet.add_agent("edge-1", "a", {exposed});
  fleet.join("agent", "evil", "a");
}

Bystanders::Bystanders(HostileWorld& world, std::string victim, std::vector<uint16_t> ports)
    : world_(world),
      victim_(std::move(victim)),
      memory_before_(memory_of(world.fleet.process(victim_).pid())),
      traffic_({.ports = std::move(ports),
                .short_clients = 2,
                .long_clients = 4,
                .streams = 0,
                .curls = 0,
                .long_life = 2s,
                .first_record = 10s}) {
  forget_peak_memory(world.fleet.process(victim_).pid());
}

void Bystanders::expect_unharmed(const std::string& what, size_t most_mebibytes) {
  const size_t memory = peak_memory_of(world_.fleet.process(victim_).pid());
  const LedgerTotals totals = traffic_.stop();
  const size_t grown = (std::max(memory, memory_before_) - memory_before_) / kMebibyte;
  std::cout << fmt::format("HOSTILE {}: {}; {} grew by {} MiB to {}\n", what, to_string(totals),
                           victim_, grown, memory / kMebibyte);
  EXPECT_EQ(totals.lost, 0);
  EXPECT_EQ(totals.unreachable, 0);
  EXPECT_EQ(totals.bytes_lost, 0);
  EXPECT_EQ(totals.bytes_silently_lost, 0);
  EXPECT_EQ(totals.bytes_doubled, 0);
  EXPECT_EQ(world_.app.skipped(), 0);
  EXPECT_EQ(world_.app.doubled(), 0);
  EXPECT_GT(totals.finished, 5);
  // A sanitizer is slow and keeps freed memory for a while: `make nightly` measures the release
  // build.
  if (!kSanitized) {
    EXPECT_EQ(totals.retried, 0);
    EXPECT_LT(totals.longest_open, 5s);
    EXPECT_LE(grown, most_mebibytes);
  }
  EXPECT_TRUE(world_.fleet.process(victim_).running()) << world_.fleet.log(victim_);
}

HostileWorld& Hostile::world() {
  static HostileWorld made;
  return made;
}

void Hostile::SetUp() {
  ASSERT_TRUE(eventually(
      [this] {
        return metric("px-0", "holdfast_tunnel_agents") >= 2 &&
               metric("px-small", "holdfast_tunnel_agents") >= 2;
      },
      40s))
      << fleet.log("px-0") << fleet.log("edge-0");
}

double Hostile::metric(const std::string& node, const std::string& sample) {
  const std::string text =
      HttpClient("unix:" + fleet.data_dir(node) + "/node.sock").ask("GET /metrics").body;
  const size_t at = text.find("\n" + sample + " ");
  return at == std::string::npos ? 0 : std::stod(text.substr(at + sample.size() + 2));
}

double Hostile::sum(const std::string& node, const std::string& name) {
  std::istringstream lines(
      HttpClient("unix:" + fleet.data_dir(node) + "/node.sock").ask("GET /metrics").body);
  double all = 0;
  for (std::string line; std::getline(lines, line);) {
    const bool fits = line.starts_with(name + " ") || line.starts_with(name + "{");
    if (fits) all += std::stod(line.substr(line.rfind(' ')));
  }
  return all;
}

testing::AssertionResult Hostile::grows(const std::string& node, const std::string& sample,
                                        double before, double least) {
  if (eventually([&] { return metric(node, sample) >= before + least; }, 60s)) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << sample << " of " << node << " was " << before << " and is "
                                     << metric(node, sample) << ", not " << least << " more";
}

testing::AssertionResult Hostile::comes_to(const std::string& node, const std::string& name,
                                           double least) {
  if (eventually([&] { return sum(node, name) >= least; }, 60s)) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure()
         << name << " of " << node << " is " << sum(node, name) << ", not " << least;
}

size_t Hostile::lines(const std::string& node, const std::string& text) {
  std::istringstream all(fleet.log(node));
  size_t count = 0;
  for (std::string line; std::getline(all, line);) count += line.contains(text) ? 1 : 0;
  return count;
}

Bystanders Hostile::bystanders(const std::string& victim) {
  return {world(), victim, {fleet.ports("px-0").ingress[0]}};
}

std::unique_ptr<HostilePeer> Hostile::evil_tunnel(std::string* why_not) {
  std::string why;
  if (why_not == nullptr) why_not = &why;
  *why_not = "no handshake";
  std::unique_ptr<HostilePeer> peer = HostilePeer::dial({.port = tunnel_port(), .papers = evil()});
  if (!peer) return nullptr;
  *why_not = "no answer to the hello";
  if (!peer->say(hello("evil", {"bait"}))) return nullptr;
  const auto answer = peer->read_message(5s);
  if (!answer) return nullptr;
  *why_not = answer->has_refusal() ? answer->refusal().code() : "";
  return answer->has_welcome() ? std::move(peer) : nullptr;
}

}  // namespace holdfast::test
