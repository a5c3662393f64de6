// `holdfast connect`, and foreign programs on the same way: a person reaches a service through real
// proxies and a real agent.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "e2e/connect_fleet.h"
#include "support/eventually.h"
#include "support/free_ports.h"
#include "support/http_client.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;

class ConnectTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(fleet_.reaches("ann", "p-1")) << fleet_.logs(); }

  ProgramOutcome connect(const std::string& user, Arguments arguments) {
    arguments.insert(arguments.begin(), "connect");
    return fleet_.as(user, arguments, page_request("/hello"));
  }
  ProgramResult curl(const std::string& user, const Arguments& more) {
    const std::string at = fleet_.public_address("p-1");
    const std::string port = at.substr(at.find(':') + 1);
    Arguments all = {"curl",
                     "-sS",
                     "-m",
                     "10",
                     "-w",
                     "<%{http_connect}>",
                     "--resolve",
                     fmt::format("proxy.holdfast:{}:127.0.0.1", port),
                     "--proxy",
                     "https://proxy.holdfast:" + port,
                     "--proxy-cacert",
                     fleet_.profile("ann") + "/ca.pem"};
    if (!user.empty()) {
      const std::string pem = fleet_.profile(user) + "/identity.pem";
      all.insert(all.end(), {"--proxy-cert", pem, "--proxy-key", pem});
    }
    all.insert(all.end(), more.begin(), more.end());
    return run_program(all, 20s);
  }

  ConnectFleet fleet_;
};

TEST_F(ConnectTest, StandardInputAndOutputBecomeTheService) {
  const ProgramOutcome done = connect("ann", {"web"});

  EXPECT_EQ(done.exit_code, 0) << done.error << fleet_.logs();
  EXPECT_THAT(done.output, AllOf(HasSubstr("200 OK"), HasSubstr("/hello")));
}

TEST_F(ConnectTest, APortIsNamedOrNumberedAndAProxyMayBeGiven) {
  for (const char* target : {"web:80", "web:http"}) {
    const ProgramOutcome done = connect("ann", {target, "--proxy", fleet_.public_address("p-1")});
    EXPECT_EQ(done.exit_code, 0) << target << done.error;
    EXPECT_THAT(done.output, HasSubstr("/hello"));
  }
}

TEST_F(ConnectTest, WhoMayNotIsToldSoWithWhatToDo) {
  const ProgramOutcome refused = connect("bob", {"web"});

  EXPECT_EQ(refused.exit_code, 77) << refused.output;
  EXPECT_THAT(refused.error, AllOf(HasSubstr("HF5001"), HasSubstr("user/bob"), HasSubstr("next:")));
  EXPECT_EQ(refused.output, "");
}

TEST_F(ConnectTest, WhatCannotBeReachedIsSaidByItsReason) {
  struct Case {
    const char* target;
    const char* code;
  };
  for (const Case& one :
       {Case{"nosuch", "HF2201"}, Case{"web:81", "HF2304"}, Case{"idle", "HF2202"}}) {
    const ProgramOutcome failed = connect("ann", {one.target});
    EXPECT_EQ(failed.exit_code, 1) << one.target;
    EXPECT_THAT(failed.error, AllOf(HasSubstr(one.code), HasSubstr("next:"))) << one.target;
  }
}

TEST_F(ConnectTest, ALocalPortIsTheService) {
  const ConnectPort port(fleet_, "ann", {"web", "--listen", "127.0.0.1:0"});
  ASSERT_NE(port.address(), "") << port.errors();

  for (const char* path : {"/one", "/two"}) {
    const Reply reply = HttpClient(port.address()).ask(fmt::format("GET {}", path));
    EXPECT_EQ(reply.status, 200) << port.errors();
    EXPECT_EQ(reply.body, path);
  }
}

TEST_F(ConnectTest, CurlBySocksReachesServicesByTheirNames) {
  const ConnectPort port(fleet_, "ann", {"--socks", "127.0.0.1:0"});
  ASSERT_NE(port.address(), "") << port.errors();
  const auto by_socks = [&](const std::string& url) {
    return run_program(
        {"curl", "-sS", "-m", "10", "--socks5-hostname", port.address(), "--noproxy", "", url},
        20s);
  };

  const ProgramResult done = by_socks("http://web/by-socks");
  EXPECT_EQ(done.exit_code, 0) << done.output << port.errors();
  EXPECT_EQ(done.output, "/by-socks");

  EXPECT_NE(by_socks("http://nosuch/").exit_code, 0);
  EXPECT_TRUE(eventually([&] { return port.errors().contains("HF2201"); }, 5s)) << port.errors();
  EXPECT_EQ(by_socks("http://web/again").output, "/again") << "the port goes on";
}

TEST_F(ConnectTest, SocksOfOneWhoMayNotIsRefused) {
  const ConnectPort port(fleet_, "bob", {"--socks", "127.0.0.1:0"});
  ASSERT_NE(port.address(), "") << port.errors();

  const ProgramResult refused = run_program(
      {"curl", "-sS", "-m", "10", "--socks5-hostname", port.address(), "http://web/"}, 20s);

  EXPECT_EQ(refused.exit_code, 97) << refused.output;
  EXPECT_TRUE(eventually([&] { return port.errors().contains("HF5001"); }, 5s)) << port.errors();
}

TEST_F(ConnectTest, ALocalPortUsesANewLogin) {
  const ConnectPort port(fleet_, "bob", {"web", "--listen", "127.0.0.1:0"});
  ASSERT_NE(port.address(), "") << port.errors();
  EXPECT_NE(HttpClient(port.address()).ask("GET /one").status, 200) << "bob may not";

  for (const char* file : {"ca.pem", "identity.pem"}) {
    std::filesystem::copy_file(fleet_.profile("ann") + "/" + file,
                               fleet_.profile("bob") + "/" + file,
                               std::filesystem::copy_options::overwrite_existing);
  }

  EXPECT_EQ(HttpClient(port.address()).ask("GET /two").status, 200) << port.errors();
}

TEST_F(ConnectTest, CurlUsesThePublicPortAsItsProxyWithAUsersCertificate) {
  const ProgramResult done = curl("ann", {"-p", "http://web/by-proxy"});
  EXPECT_EQ(done.exit_code, 0) << done.output;
  EXPECT_EQ(done.output, "/by-proxy<200>");

  EXPECT_THAT(curl("bob", {"-p", "http://web/"}).output, HasSubstr("<403>"));
  EXPECT_THAT(curl("", {"-p", "http://web/"}).output, HasSubstr("<407>"));
  EXPECT_THAT(curl("ann", {"-p", "http://nosuch/"}).output, HasSubstr("<404>"));
  EXPECT_THAT(curl("ann", {"-p", "http://idle/"}).output, HasSubstr("<503>"));
}

TEST_F(ConnectTest, AnAddressThatOthersReachNeedsTheirWord) {
  const ProgramOutcome refused = connect("ann", {"web", "--listen", "0.0.0.0:0"});
  EXPECT_EQ(refused.exit_code, 64);
  EXPECT_THAT(refused.error, AllOf(HasSubstr("HF2316"), HasSubstr("--allow-remote")));

  const ConnectPort port(fleet_, "ann", {"web", "--listen", "0.0.0.0:0", "--allow-remote"});
  EXPECT_THAT(port.address(), HasSubstr("0.0.0.0:")) << port.errors();
}

// The application speaks TLS of its own; the proxy only reads the name.
TEST_F(ConnectTest, CurlIsTakenByTheNameInItsTlsHello) {
  const std::vector<uint16_t> ports = free_ports(2);
  const std::string key = fleet_.file("app.key");
  const std::string certificate = fleet_.file("app.crt");
  ASSERT_EQ(run_program({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                         "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=safe",
                         "-addext", "subjectAltName=DNS:safe", "-keyout", key, "-out", certificate},
                        20s)
                .exit_code,
            0);
  ChildProcess app(
      {.arguments = {"openssl", "s_server", "-accept", fmt::format("127.0.0.1:{}", ports[0]),
                     "-cert", certificate, "-key", key, "-www", "-quiet"},
       .output_file = fleet_.file("app.log"),
       .input_file = "/dev/null"});
  TunnelFleet& fleet = fleet_.fleet();
  fleet.apply(
      "kind: service\nmetadata: {name: safe}\nspec: {ports: [{port: 443, protocol: tcp}]}\n");
  fleet.add_proxy("p-sni", "a", {}, {"--ingress", fmt::format("sni:127.0.0.1:{}=safe", ports[1])});
  fleet.add_agent("a-sni", "a", {fmt::format("safe=127.0.0.1:{}", ports[0])});
  const auto by_name = [&](const std::string& name) {
    return run_program({"curl", "-sS", "-m", "5", "--cacert", certificate, "--resolve",
                        fmt::format("{}:{}:127.0.0.1", name, ports[1]),
                        fmt::format("https://{}:{}/", name, ports[1])},
                       20s);
  };

  EXPECT_TRUE(eventually([&] { return by_name("safe").output.contains("s_server"); }, 30s))
      << by_name("safe").output << fleet_.logs();
  EXPECT_NE(by_name("web").exit_code, 0) << "not named for this listener";
  fleet.process("p-sni").kill();
}

TEST(ConnectFailover, GoesOnWithTheControllersGoneAndAProxyDead) {
  ConnectFleet fleet(2);
  ASSERT_TRUE(fleet.reaches("ann", "p-1")) << fleet.logs();
  ASSERT_TRUE(fleet.reaches("ann", "p-2")) << fleet.logs();
  // From the controllers' list, once both are in it.
  ASSERT_TRUE(eventually(
      [&] {
        const std::string proxies = fleet.as("ann", {"get", "proxies"}).output;
        return proxies.contains(fleet.public_address("p-1")) &&
               proxies.contains(fleet.public_address("p-2"));
      },
      20s));
  ASSERT_EQ(fleet.as("ann", {"connect", "web"}, page_request("/1")).exit_code, 0);

  fleet.fleet().controller().kill();
  const ProgramOutcome alone = fleet.as("ann", {"connect", "web"}, page_request("/2"));
  EXPECT_EQ(alone.exit_code, 0) << alone.error << fleet.logs();
  EXPECT_THAT(alone.output, HasSubstr("/2"));

  for (const char* dead : {"p-1", "p-2"}) {
    fleet.fleet().process(dead).kill();
    const ProgramOutcome next = fleet.as("ann", {"connect", "web"}, page_request("/3"));
    if (std::string_view(dead) == "p-1") {
      EXPECT_EQ(next.exit_code, 0) << next.error << fleet.logs();
      EXPECT_THAT(next.output, HasSubstr("/3"));
    } else {
      EXPECT_EQ(next.exit_code, 69) << next.output;
      EXPECT_THAT(next.error, AllOf(HasSubstr("HF2311"), HasSubstr("next:")));
    }
  }
}

TEST(ConnectFailover, WithNoProxyKnownItSaysHowToNameOne) {
  ConnectFleet fleet(0);

  const ProgramOutcome lost = fleet.as("ann", {"connect", "web"}, page_request("/"));

  EXPECT_EQ(lost.exit_code, 69) << lost.output;
  EXPECT_THAT(lost.error, AllOf(HasSubstr("HF2310"), HasSubstr("--proxy")));
}

}  // namespace
}  // namespace holdfast::test
