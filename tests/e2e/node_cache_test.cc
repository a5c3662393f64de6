// A node's copy of what the controllers have, with real processes: it follows changes, outlives
// every controller and its own death, says how old its answers are, and is fresh again by itself.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>

#include "e2e/fleet.h"
#include "support/eventually.h"
#include "support/http_client.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// A node that died has left its socket behind.
bool is_served(const std::string& file) {
  const int connection = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  file.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  const bool connected = connect(connection, generic, sizeof(address)) == 0;
  close(connection);
  return connected;
}

// A request on a connection of its own to the node's socket; status 0 if nobody serves it.
Reply ask(const Fleet& fleet, const std::string& name, const std::string& what) {
  const std::string file = fleet.data_dir(name) + "/node.sock";
  return is_served(file) ? HttpClient("unix:" + file).ask(what) : Reply{};
}

std::string header(const Reply& reply, const std::string& name) {
  const size_t at = reply.head.find(name + ": ");
  if (at == std::string::npos) return "";
  const size_t value = at + name.size() + 2;
  return reply.head.substr(value, reply.head.find("\r\n", value) - value);
}

std::string source(const Fleet& fleet, const std::string& name, const std::string& what) {
  const Reply reply = ask(fleet, name, what);
  return reply.status == 200 ? header(reply, "Holdfast-Source")
                             : fmt::format("{} {}", reply.status, reply.body);
}

bool comes_from(const Fleet& fleet, const std::string& name, const std::string& wanted,
                Duration patience = 20s) {
  return eventually([&] { return source(fleet, name, "GET /v1/services") == wanted; }, patience);
}

class NodeCache : public testing::Test {
 protected:
  // With the service "web" in it.
  void add_agent(const std::string& name) {
    ASSERT_EQ(apply("web"), 0);
    fleet_.add("agent", name);
    ASSERT_TRUE(comes_from(fleet_, name, "cache")) << fleet_.log(name);
  }
  int apply(const std::string& service, int port = 8080) {
    return fleet_.controller().cli({"apply", "-f", "-"}, service_yaml(service, port)).exit_code;
  }
  // As after a crash: no goodbye, no last save.
  void crash(const std::string& name) { fleet_.process(name).kill(); }
  bool has_copy(const std::string& name) const {
    return std::filesystem::exists(fleet_.data_dir(name) + "/cache.copy");
  }
  std::string row(const std::string& name, const std::string& kind) {
    const std::string all = ask(fleet_, name, "GET /v1/caches").body;
    const size_t at = all.find(fmt::format("\"kind\":\"{}\"", kind));
    return at == std::string::npos ? all : all.substr(at, all.find('}', at) - at);
  }

  Fleet fleet_;
};

TEST_F(NodeCache, ShowsWhatIsWrittenAtAControllerWithinASecond) {
  add_agent("a-1");
  const auto body = [&](const std::string& what) { return ask(fleet_, "a-1", what).body; };
  EXPECT_THAT(body("GET /v1/services"), HasSubstr("\"name\":\"web\""));
  EXPECT_EQ(ask(fleet_, "a-1", "GET /v1/services/nothing").status, 404);
  EXPECT_EQ(ask(fleet_, "a-1", "DELETE /v1/services/web").status, 409);

  ASSERT_EQ(apply("web", 9999), 0);
  EXPECT_TRUE(eventually([&] { return body("GET /v1/services/web").contains("9999"); }, 10s));
  ASSERT_EQ(apply("next"), 0);
  EXPECT_TRUE(
      eventually([&] { return ask(fleet_, "a-1", "GET /v1/services/next").status == 200; }, 10s));
  ASSERT_EQ(fleet_.cli({"delete", "service/web"}).exit_code, 0);
  EXPECT_TRUE(
      eventually([&] { return ask(fleet_, "a-1", "GET /v1/services/web").status == 404; }, 10s));

  EXPECT_EQ(source(fleet_, "a-1", "GET /v1/services/next"), "cache");
  EXPECT_EQ(ask(fleet_, "a-1", "GET /readyz").status, 200);
  const auto connected = [&] {
    return body("GET /metrics").contains("holdfast_link_connected 1\n");
  };
  EXPECT_TRUE(eventually(connected, 10s)) << body("GET /metrics");
  EXPECT_EQ(ask(fleet_, "a-1", "GET /v1/users").status, 403) << "an agent may not read users";
}

TEST_F(NodeCache, OutlivesEveryControllerAndItsOwnDeath) {
  add_agent("a-1");
  ASSERT_TRUE(eventually([&] { return has_copy("a-1"); }, 10s));

  fleet_.controller().kill();
  ASSERT_TRUE(comes_from(fleet_, "a-1", "stale")) << row("a-1", "service");
  const Reply stale = ask(fleet_, "a-1", "GET /v1/services/web");
  EXPECT_EQ(stale.status, 200);
  const int age = std::stoi(header(stale, "Holdfast-Stale"));
  const auto is_older = [&](int than) {
    return std::stoi("0" + header(ask(fleet_, "a-1", "GET /v1/services"), "Holdfast-Stale")) > than;
  };
  EXPECT_TRUE(eventually([&] { return is_older(age + 1); }, 5s)) << "its age rises";
  EXPECT_EQ(ask(fleet_, "a-1", "GET /readyz").status, 200);

  crash("a-1");
  fleet_.start("a-1");
  ASSERT_TRUE(comes_from(fleet_, "a-1", "stale")) << fleet_.log("a-1") << row("a-1", "service");
  const Reply restored = ask(fleet_, "a-1", "GET /v1/services/web");
  EXPECT_THAT(restored.body, HasSubstr("8080"));
  EXPECT_TRUE(is_older(age)) << "counted from when it was last whole, not from the start";
  EXPECT_THAT(ask(fleet_, "a-1", "GET /metrics").body, HasSubstr("holdfast_link_connected 0\n"));

  fleet_.controller().start();
  const auto since = std::chrono::steady_clock::now();
  ASSERT_TRUE(comes_from(fleet_, "a-1", "cache", 30s)) << row("a-1", "service");
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - since;
  std::cout << fmt::format("fresh again {:.2f} s after the controller was\n", took.count());
  ASSERT_EQ(apply("web", 7777), 0);
  EXPECT_TRUE(eventually(
      [&] { return ask(fleet_, "a-1", "GET /v1/services/web").body.contains("7777"); }, 10s));
}

TEST_F(NodeCache, ItsRowsAreSeenThroughTheController) {
  add_agent("a-1");
  fleet_.add("proxy", "p-1");
  ASSERT_TRUE(comes_from(fleet_, "p-1", "cache"));

  std::string agents;
  const auto announced = [&] {
    agents = fleet_.cli({"get", "agents", "-o", "yaml"}).output;
    return agents.contains("caches:") && !agents.contains("source: upstream");
  };
  EXPECT_TRUE(eventually(announced, 10s)) << agents;
  EXPECT_THAT(agents, AllOf(HasSubstr("kind: capacity_lease"), HasSubstr("source: cache"),
                            Not(HasSubstr("kind: user"))));
  const auto proxy = [&] { return fleet_.cli({"get", "proxy/p-1", "-o", "yaml"}).output; };
  EXPECT_TRUE(eventually([&] { return proxy().contains("kind: user"); }, 10s)) << proxy();
  EXPECT_THAT(row("p-1", "agent"), HasSubstr("\"source\":\"cache\""));
  EXPECT_THAT(ask(fleet_, "p-1", "GET /v1/agents").body, HasSubstr("\"name\":\"a-1\""));
  EXPECT_EQ(fleet_.refusals(), "");
}

TEST_F(NodeCache, ACopyThatIsDamagedOrAnotherNodesIsNotUsedAndSaysWhy) {
  add_agent("a-1");
  fleet_.add("agent", "a-2");
  ASSERT_TRUE(comes_from(fleet_, "a-2", "cache"));
  ASSERT_TRUE(eventually([&] { return has_copy("a-1") && has_copy("a-2"); }, 10s));
  fleet_.controller().kill();
  crash("a-1");
  crash("a-2");
  const auto copy = [&](const std::string& name) { return fleet_.data_dir(name) + "/cache.copy"; };
  {
    std::fstream file(copy("a-1"), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-20, std::ios::end);
    file.put('\x5a').put('\xa5');
  }
  using std::filesystem::copy_options;
  std::filesystem::copy_file(copy("a-1"), copy("a-2"), copy_options::overwrite_existing);

  fleet_.start("a-1");
  fleet_.start("a-2");

  for (const char* name : {"a-1", "a-2"}) {
    ASSERT_TRUE(eventually([&] { return ask(fleet_, name, "GET /readyz").status == 503; }, 10s));
    EXPECT_EQ(ask(fleet_, name, "GET /v1/services").status, 503) << name;
    EXPECT_THAT(row(name, "service"), HasSubstr("\"source\":\"upstream\"")) << name;
  }
  EXPECT_THAT(row("a-1", "service"), HasSubstr("HF1251"));
  EXPECT_THAT(row("a-2", "service"), HasSubstr("HF1252"));
  fleet_.controller().start();
  EXPECT_TRUE(comes_from(fleet_, "a-1", "cache", 30s));
  EXPECT_TRUE(comes_from(fleet_, "a-2", "cache", 30s));
}

}  // namespace
}  // namespace holdfast::test
