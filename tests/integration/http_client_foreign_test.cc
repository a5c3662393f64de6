// The HTTP client with servers that are not ours: Python's, OpenSSL's, and two behind haproxy.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <memory>
#include <set>

#include "asking.h"
#include "running_http_server.h"
#include "support/child_process.h"
#include "support/eventually.h"
#include "support/free_ports.h"
#include "support/temp_dir.h"
#include "support/test_certificate.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// Answers with its name and the peer's port, which tells connections apart. Says `Connection:
// close` while the file of its name and ".unwell" is there.
constexpr std::string_view kServer = R"(
import http.server, os, sys
name, port, version = sys.argv[1], int(sys.argv[2]), sys.argv[3]
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = version
    disable_nagle_algorithm = True
    wbufsize = -1
    def do_GET(self):
        body = f"{os.path.basename(name)} {self.client_address[1]}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        if os.path.exists(name + ".unwell"):
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *ignored):
        pass
http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
)";

class ForeignHttp : public testing::Test {
 protected:
  std::string at(size_t index) const { return fmt::format("127.0.0.1:{}", ports_[index]); }
  void start(std::vector<std::string> arguments) {
    children_.push_back(std::make_unique<ChildProcess>(
        ChildOptions{.arguments = std::move(arguments), .output_file = dir_.file("output")}));
  }
  void start_python(const std::string& name, size_t port, const std::string& version) {
    start({"/usr/bin/python3", "-c", std::string(kServer), dir_.file(name),
           std::to_string(ports_[port]), version});
    answers(at(port));
  }
  void start_haproxy() {
    std::ofstream(dir_.file("haproxy.cfg"))
        << "defaults\n  mode tcp\n  option redispatch 1\n  timeout connect 2s\n  timeout client "
           "30s\n"
        << "  timeout server 30s\nlisten both\n  bind " << at(0)
        << "\n  balance roundrobin\n  server a " << at(1) << "\n  server b " << at(2) << "\n";
    start({"/usr/sbin/haproxy", "-db", "-f", dir_.file("haproxy.cfg")});
    answers(at(0));
  }
  static void answers(const std::string& address) {
    Asking asking({.addresses = {address}});
    ASSERT_TRUE(eventually([&] { return asking.get("/").ok(); }, 10s)) << address;
  }

  TempDir dir_;
  const std::vector<uint16_t> ports_ = free_ports(3);
  std::vector<std::unique_ptr<ChildProcess>> children_;
};

TEST_F(ForeignHttp, AnHttp10ServerGetsAConnectionForEachRequest) {
  start_python("old", 1, "HTTP/1.0");
  Asking asking({.addresses = {at(1)}});

  std::set<std::string> connections;
  for (int i = 0; i < 5; ++i) connections.insert(asking.text("/"));

  EXPECT_EQ(connections.size(), 5);
  EXPECT_EQ(asking.stats().goodbyes, 5);
  EXPECT_EQ(asking.stats().repeated, 0);
}

TEST_F(ForeignHttp, BehindABalancerAGoodbyeLeadsToTheOtherServer) {
  start_python("a", 1, "HTTP/1.1");
  start_python("b", 2, "HTTP/1.1");
  start_haproxy();
  Asking asking({.addresses = {at(0)}});
  const std::string first = asking.text("/");
  const std::string unwell = first.substr(0, 1);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(asking.text("/"), first);

  std::ofstream(dir_.file(unwell + ".unwell")) << "x";
  std::map<std::string, int> answered;
  std::string before = asking.text("/");
  EXPECT_EQ(before, first);
  for (int i = 0; i < 200; ++i) {
    const std::string now = asking.text("/");
    answered[now.substr(0, 1)] += 1;
    if (before.starts_with(unwell))
      EXPECT_NE(now, before) << "on the connection it was told to leave";
    before = now;
  }

  const std::string well = unwell == "a" ? "b" : "a";
  EXPECT_GE(answered[well], 199);
  EXPECT_EQ(answered[well] + answered[unwell], 200) << "every request was answered";
  EXPECT_EQ(asking.stats().repeated, 0);
}

TEST_F(ForeignHttp, BehindABalancerAServerThatIsKilledCostsNoRequest) {
  start_python("a", 1, "HTTP/1.1");
  start_python("b", 2, "HTTP/1.1");
  start_haproxy();
  Asking asking({.addresses = {at(0)}});
  const std::string used = asking.text("/").substr(0, 1);

  children_[used == "a" ? 0 : 1]->kill();

  const std::string other = used == "a" ? "b " : "a ";
  for (int i = 0; i < 20; ++i) EXPECT_THAT(asking.text("/"), testing::StartsWith(other));
  EXPECT_EQ(asking.stats().dialled, 2);
}

TEST_F(ForeignHttp, OurOwnServersBehindABalancerAreLeftWhenTheyAreUnwell) {
  RunningHttpServer a;
  RunningHttpServer b;
  a.listen(at(1));
  b.listen(at(2));
  start_haproxy();
  Asking asking({.addresses = {at(0)}});
  const auto answered = [&] {
    return std::pair(a.counted("requests_total", {{"code", "200"}}),
                     b.counted("requests_total", {{"code", "200"}}));
  };

  for (int round = 0; round < 10; ++round) {
    RunningHttpServer& unwell = round % 2 == 0 ? a : b;
    (round % 2 == 0 ? b : a).healthy = true;
    unwell.healthy = false;
    for (int i = 0; i < 3; ++i) ASSERT_EQ(asking.text("/"), "hello GET");
    const auto before = answered();
    for (int i = 0; i < 5; ++i) ASSERT_EQ(asking.text("/"), "hello GET");
    const auto after = answered();
    EXPECT_EQ(round % 2 == 0 ? after.first - before.first : after.second - before.second, 0);
  }
  EXPECT_EQ(asking.stats().repeated, 0);
}

TEST_F(ForeignHttp, OpensslAnswersUnderTls) {
  const TestCertificate own = make_test_certificate("foreign");
  std::ofstream(dir_.file("cert.pem")) << own.certificate_pem;
  std::ofstream(dir_.file("key.pem")) << own.private_key_pem;
  start({"openssl", "s_server", "-accept", at(1), "-cert", dir_.file("cert.pem"), "-key",
         dir_.file("key.pem"), "-www", "-quiet"});
  const auto trusting = net::TlsContext::make_client({.ca_pem = own.certificate_pem});
  ASSERT_TRUE(trusting.ok()) << trusting.status();
  Asking asking({.addresses = {at(1)}, .tls = *trusting});
  ASSERT_TRUE(eventually([&] { return asking.get("/").ok(); }, 10s)) << asking.get("/").status();

  EXPECT_THAT(asking.text("/"), HasSubstr("TLSv1.3"));
  EXPECT_THAT(asking.text("/"), HasSubstr("TLSv1.3"));
}

}  // namespace
}  // namespace holdfast::test
