// Nodes in a cluster that loses controllers, with real processes: whatever becomes of the one that
// all of them use, none is ever shown as offline, and each sees what is written afterwards. The
// balancer checks its servers' health, as most do: without that, each try of an idle node may lead
// back to the sick one, and tries are 2, 4, 8 and 16 s apart.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>

#include "base/check.h"
#include "e2e/etcd_pair.h"
#include "support/eventually.h"
#include "support/http_client.h"
#include "support/paths.h"
#include "support/sanitized.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::IsEmpty;

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Every change of every node, as one controller tells it.
class PresenceWatch {
 public:
  explicit PresenceWatch(const ControllerProcess& controller)
      : process_({.arguments = {built("holdfast"), "--server", controller.unix_server(), "watch",
                                "agents", "proxies", "-o", "json"},
                  .output_file = folder_.file("events"),
                  .error_file = folder_.file("errors")}) {}

  size_t changes() const { return lines("\"revision\"").size(); }
  // That took a node offline or removed it.
  std::vector<std::string> losses() const {
    std::vector<std::string> found = lines("offline_since");
    std::ranges::copy(lines("\"type\":\"delete\""), std::back_inserter(found));
    return found;
  }

 private:
  std::vector<std::string> lines(std::string_view word) const {
    std::istringstream text(read_text(folder_.file("events")));
    std::vector<std::string> found;
    for (std::string line; std::getline(text, line);) {
      if (line.contains(word)) found.push_back(line);
    }
    return found;
  }

  TempDir folder_;
  ChildProcess process_;
};

struct Member {
  std::string role;
  std::unique_ptr<ChildProcess> process;
};

struct Fault {
  std::string name;
  std::function<void(const Half&)> strike;
  // How long until a node sees a new service.
  Duration agents = 10s;
  Duration proxies = 10s;
};

class NodeFailover : public testing::Test {
 protected:
  // Agents announce themselves as in any small fleet, every 30 s or more; the proxy every 6 or 7 s.
  NodeFailover()
      : pair_({.arguments = {"--set", "presence.proxy_ttl=12s", "--set",
                             "health.recovery_window=1s"}}) {
    pair_.balancer().set_takes_new("b", false);
    add("agent", "a-1");
    add("agent", "a-2");
    add("proxy", "p-1");
    EXPECT_TRUE(eventually([&] { return is_cached_everywhere(pair_.b()); }, 20s)) << log("p-1");
    pair_.balancer().set_takes_new("b", true);
  }

  void add(const std::string& role, const std::string& name) {
    const ControllerProcess& a = pair_.a().controller;
    const ProgramOutcome token = a.cli({"token", "create", "--role", role, "--name", name});
    HF_CHECK(token.exit_code == 0, token.error);
    const std::string status = a.cli({"rotate", "status"}).output;
    const std::string pin = status.substr(status.find("sha256:"));
    const ProgramOutcome joined = run_program(
        {.arguments = {built("holdfast"), "--profile", folder_.file("profile"), "join", "--name",
                       name, "--token-file", "-", "--data-dir", data_dir(name), "--pin",
                       pin.substr(0, pin.find('\n')), pair_.balancer().address()},
         .input = token.output});
    HF_CHECK(joined.exit_code == 0, joined.error);
    Member& member = members_[name];
    member.role = role;
    member.process =
        std::make_unique<ChildProcess>(ChildOptions{.arguments = node_command(role, data_dir(name)),
                                                    .output_file = folder_.file(name + ".log")});
  }

  std::string data_dir(const std::string& name) const { return folder_.file(name); }
  std::string log(const std::string& name) const { return read_text(folder_.file(name + ".log")); }

  // The controller that every node uses; null while they use several.
  std::optional<Half> used_by_all() {
    std::map<std::string, size_t> count;
    for (const auto& [port, backend] : pair_.balancer().backend_of_port()) ++count[backend];
    if (count.size() != 1 || count.begin()->second != members_.size()) return std::nullopt;
    return pair_.half(count.begin()->first);
  }

  // All rows of `get caches`, of all nodes, as this controller has been told.
  bool is_cached_everywhere(const Half& half) const {
    std::istringstream table(half.controller.cli({"get", "caches"}).output);
    std::string line;
    std::getline(table, line);  // the head
    std::map<std::string, size_t> cached;
    while (std::getline(table, line)) {
      std::istringstream cells(line);
      std::string node;
      std::string kind;
      std::string source;
      cells >> node >> kind >> source;
      if (source != "cache") return false;
      ++cached[node];
    }
    return cached ==
           std::map<std::string, size_t>{{"agent/a-1", 7}, {"agent/a-2", 7}, {"proxy/p-1", 10}};
  }

  // From its cache, which follows a controller.
  bool sees(const std::string& name, const std::string& service) const {
    HttpClient client("unix:" + data_dir(name) + "/node.sock");
    const Reply reply = client.ask("GET /v1/services/" + service);
    return reply.status == 200 && reply.head.contains("Holdfast-Source: cache");
  }

  void expect_seen_in_time(const Fault& fault, const std::string& service) {
    const auto start = std::chrono::steady_clock::now();
    std::map<std::string, double> took;
    const auto all_see = [&] {
      for (const auto& [name, member] : members_) {
        if (!took.contains(name) && sees(name, service)) took[name] = seconds_since(start);
      }
      return took.size() == members_.size();
    };
    eventually(all_see, 60s);
    for (const auto& [name, member] : members_) {
      const Duration limit = member.role == "proxy" ? fault.proxies : fault.agents;
      ASSERT_TRUE(took.contains(name)) << name << " sees it never: " << log(name);
      if (!kSanitized) {
        EXPECT_LT(took[name], std::chrono::duration<double>(limit).count()) << name << log(name);
      }
      std::cout << fmt::format("{} {}: a new service is seen after {:.2f} s\n", fault.name, name,
                               took[name]);
    }
  }

  void survive(const Fault& fault) {
    SCOPED_TRACE(fault.name);
    ASSERT_TRUE(eventually([&] { return used_by_all().has_value(); }, 10s));
    const Half struck = *used_by_all();
    const Half live = pair_.other(struck.name);
    const PresenceWatch presence(live.controller);
    ASSERT_TRUE(eventually([&] { return presence.changes() > 0; }, 10s));

    const std::string service = "after-" + fault.name;
    fault.strike(struck);
    pair_.balancer().set_takes_new(struck.name, false);
    const ProgramOutcome applied = live.controller.cli({"apply", "-f", "-"}, service_yaml(service));
    ASSERT_EQ(applied.exit_code, 0) << applied.error;

    expect_seen_in_time(fault, service);
    const auto start = std::chrono::steady_clock::now();
    EXPECT_TRUE(eventually([&] { return is_cached_everywhere(live); }, kSanitized ? 60s : 5s))
        << live.controller.cli({"get", "caches"}).output;
    std::cout << fmt::format("{}: every cache is told to be fresh {:.2f} s later\n", fault.name,
                             seconds_since(start));
    EXPECT_THAT(presence.losses(), IsEmpty());
    pair_.mend();
    pair_.balancer().set_takes_new(struck.name, true);
  }

  // Its etcd hangs, and it has said so.
  static void lose_store(const Half& half) {
    half.lose_store();
    EXPECT_TRUE(eventually([&] { return half.readiness() == 503; }, 10s)) << half.controller.log();
  }

  TempDir folder_;
  EtcdPair pair_;
  std::map<std::string, Member> members_;
};

TEST_F(NodeFailover, EveryNodeGoesOnWithoutTheControllerThatAllOfThemUse) {
  survive({.name = "killed", .strike = [](const Half& half) { half.controller.kill(); }});
  survive({.name = "without-store", .strike = lose_store});
  // A frozen one is missed when three beats of its health have not come, which is after 2.7 s, by
  // idle nodes too. The cache takes 1 to 3 s more to watch again.
  survive({.name = "frozen",
           .strike = [](const Half& half) { half.controller.freeze(); },
           .agents = 8s,
           .proxies = 8s});
}

}  // namespace
}  // namespace holdfast::test
