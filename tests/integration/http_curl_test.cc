// The controller's HTTP side with a client that is not ours: curl.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/reason.h"
#include "running_web_server.h"
#include "support/child_process.h"
#include "support/eventually.h"
#include "support/temp_dir.h"
#include "support/test_certificate.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

class Curl : public testing::Test {
 protected:
  Curl() {
    save("cert.pem", own_.certificate_pem);
    save("key.pem", own_.private_key_pem);
    server_.set_tls(own_.certificate_pem, own_.private_key_pem);
    plain_ = "http://" + server_.listen("127.0.0.1:0");
    secure_ = "https://" + server_.listen("127.0.0.1:0", true);
  }

  std::string file(std::string_view name) const { return dir_.file(name); }
  void save(std::string_view name, std::string_view text) const {
    std::ofstream(file(name)) << text;
  }
  // Everything curl prints, head and body.
  static std::string curl(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"curl", "-sS", "-i", "--max-time", "10"});
    return run_program({.arguments = std::move(arguments)}).output;
  }
  std::string as_user(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--cacert", file("cert.pem"), "--cert", file("cert.pem"),
                                       "--key", file("key.pem")});
    return curl(std::move(arguments));
  }

  const TestCertificate own_ = make_test_certificate("controller");
  TempDir dir_;
  RunningWebServer server_;
  std::string plain_;
  std::string secure_;
};

TEST_F(Curl, ReadsHealthOverPlainHttp) {
  EXPECT_THAT(curl({plain_ + "/readyz"}), HasSubstr("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(curl({"-I", plain_ + "/livez"}), HasSubstr("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(curl({plain_ + "/v1/service"}), HasSubstr("HTTP/1.1 404 Not Found\r\n"));
}

TEST_F(Curl, WritesAndReadsOverTlsWithACertificate) {
  save("web.yaml", "kind: service\nmetadata: {name: web}\nspec: {ports: [{port: 80}]}\n");

  EXPECT_THAT(as_user({"-X", "PUT", "-H", "Content-Type: application/yaml", "--data-binary",
                       "@" + file("web.yaml"), secure_ + "/v1/service/web"}),
              HasSubstr("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(as_user({secure_ + "/v1/service/web"}), HasSubstr("\"port\":80"));
  EXPECT_THAT(as_user({"--tls-max", "1.2", secure_ + "/v1/whoami"}),
              HasSubstr("\"role\":\"user\""));
  EXPECT_THAT(as_user({"-X", "DELETE", "-H", "If-Match: \"2\"", secure_ + "/v1/service/web"}),
              HasSubstr("{\"revision\":3}"));
}

TEST_F(Curl, IsRefusedWithoutACertificateAndWithOldTls) {
  EXPECT_THAT(curl({"--cacert", file("cert.pem"), secure_ + "/v1/service"}),
              HasSubstr("HTTP/1.1 401 Unauthorized\r\n"));
  EXPECT_THAT(as_user({"--tls-max", "1.1", secure_ + "/v1/service"}), Not(HasSubstr("HTTP/1.1")));
}

TEST_F(Curl, SendsALargeBodyOnlyAfterItIsAskedTo) {
  save("big.json", std::string(2 << 20, ' ') + "{}");

  const std::string output =
      as_user({"-X", "POST", "-H", "Content-Type: application/json", "--data-binary",
               "@" + file("big.json"), secure_ + "/v1/service"});

  EXPECT_THAT(output, HasSubstr("HTTP/1.1 100 Continue\r\n"));
  EXPECT_THAT(output, HasSubstr("HTTP/1.1 413 Content Too Large\r\n"));
}

TEST_F(Curl, KeepsItsConnectionOnlyWhileTheServerIsHealthy) {
  const auto connections_for_two = [&] {
    return curl({"-w", "connects=%{num_connects}\n", plain_ + "/livez", plain_ + "/livez"});
  };

  EXPECT_THAT(connections_for_two(), HasSubstr("connects=0"));
  server_.report(coded(absl::StatusCode::kUnavailable, "HF1101", "down"));
  const std::string unhealthy = connections_for_two();
  EXPECT_THAT(unhealthy, HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(unhealthy, Not(HasSubstr("connects=0")));
}

TEST_F(Curl, FollowsAWatch) {
  ChildProcess watching(
      {.arguments = {"curl", "-sSN", "--cacert", file("cert.pem"), "--cert", file("cert.pem"),
                     "--key", file("key.pem"), secure_ + "/v1/watch?kind=service"},
       .output_file = file("events")});
  const auto seen = [&] {
    std::ifstream events(file("events"));
    return std::string(std::istreambuf_iterator<char>(events), {});
  };
  ASSERT_TRUE(eventually([&] { return seen().find("event: init") != std::string::npos; }, 10s));

  server_.put("web");

  EXPECT_TRUE(eventually([&] { return seen().find("event: put") != std::string::npos; }, 10s));
  watching.kill();
  EXPECT_TRUE(eventually([&] { return server_.watcher_count() == 0; }, 10s));
}

}  // namespace
}  // namespace holdfast::test
