// The probers and servers that are not ours: HTTP/2 with and without TLS, certificates nobody
// trusts, gRPC in all its states.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "foreign_apps.h"
#include "probing.h"
#include "support/eventually.h"
#include "support/free_ports.h"
#include "support/test_certificate.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using probe::Grpc;
using probe::HttpGet;
using probe::Outcome;
using probe::Probe;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

Probe tls_probe(uint16_t port, const std::string& path) {
  return {.action = HttpGet{.path = path, .tls = true}, .port = port, .timeout = 5s};
}

Probe h2c_probe(uint16_t port, const std::string& path) {
  return {.action = HttpGet{.path = path, .h2c = true}, .port = port, .timeout = 5s};
}

Probe grpc_probe(uint16_t port, const std::string& service, bool tls = false) {
  return {.action = Grpc{.service = service, .tls = tls}, .port = port, .timeout = 3s};
}

std::string text_of(const std::string& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

constexpr const char* kNginx = R"(
daemon off;
master_process off;
pid DIRpid;
error_log DIRerror;
events {}
http {
  log_format seen "$server_protocol|$request_uri|$http_host|$http_user_agent|$http_x_own|"
                  "$http_accept_encoding|";
  access_log DIRaccess seen;
  client_body_temp_path DIRa; proxy_temp_path DIRb; fastcgi_temp_path DIRc;
  uwsgi_temp_path DIRd; scgi_temp_path DIRe;
  server {
    listen 127.0.0.1:PORT LISTEN;
    CERTIFICATE
    location /ok { return 200 "fine"; }
    location /no { return 503 "no"; }
    location /moved { return 302 /ok; }
    location /away { return 302 SCHEME://localhost:PORT/no; }
    location /loop { return 302 /loop; }
    location ~ ^/to/(https?)/([0-9]+)$ { return 302 $1://127.0.0.1:$2/ok; }
    location ~ ^/to/(https?)/([0-9]+)/no$ { return 302 $1://127.0.0.1:$2/no; }
  }
}
)";

std::string nginx_config(const std::string& listen) {
  std::string text = kNginx;
  const bool tls = listen.contains("ssl");
  const std::pair<std::string, std::string> kWords[] = {
      {"LISTEN", listen},
      {"CERTIFICATE", tls ? "ssl_certificate CERT; ssl_certificate_key KEY;" : ""},
      {"SCHEME", tls ? "https" : "http"}};
  for (const auto& [word, value] : kWords) text.replace(text.find(word), word.size(), value);
  return text;
}

ForeignApp nginx(const std::string& listen) {
  return ForeignApp({"/usr/sbin/nginx", "-c", "DIRnginx.conf", "-p", "DIR"},
                    {{"nginx.conf", nginx_config(listen)}});
}

void expect_all_of_nginx(ForeignApp& app, const std::function<Probe(const std::string&)>& probe) {
  Probing probing;
  EXPECT_TRUE(probing.run(probe("/ok")).healthy) << probing.run(probe("/ok")).reason;
  EXPECT_EQ(probing.run(probe("/no")).code, 503);
  EXPECT_EQ(probing.run(probe("/absent")).code, 404);
  EXPECT_EQ(probing.run(probe("/moved")).code, 200);
  EXPECT_EQ(probing.run(probe("/away")).code, 302);
  EXPECT_TRUE(probing.run(probe("/away")).healthy);
  EXPECT_THAT(probing.run(probe("/loop")).reason, HasSubstr("stopped after 10 redirects"));
  Probe own = probe("/ok?x=%2F");
  std::get<HttpGet>(own.action).headers = {{"Host", "example.com"}, {"X-Own", "1"}};
  EXPECT_TRUE(probing.run(own).healthy);
  const std::string line = "|/ok?x=%2F|example.com|kube-probe/1.0|1|-|";
  EXPECT_TRUE(eventually([&] { return text_of(app.file("access")).contains(line); }, 5s))
      << text_of(app.file("access"));
}

TEST(ForeignHttp1, NginxInClear) {
  ForeignApp app = nginx("");
  expect_all_of_nginx(app, [&](const std::string& path) { return http_probe(app.port(), path); });
  EXPECT_THAT(text_of(app.file("access")), Not(HasSubstr("HTTP/2")));
}

TEST(ForeignHttp1, NginxUnderTlsThatKnowsNoHttp2) {
  ForeignApp app = nginx("ssl");
  expect_all_of_nginx(app, [&](const std::string& path) { return tls_probe(app.port(), path); });
  EXPECT_THAT(text_of(app.file("access")), Not(HasSubstr("HTTP/2")));
}

TEST(ForeignHttp2, NginxUnderTls) {
  ForeignApp app = nginx("ssl http2");
  expect_all_of_nginx(app, [&](const std::string& path) { return tls_probe(app.port(), path); });
  EXPECT_THAT(text_of(app.file("access")), Not(HasSubstr("HTTP/1")));
}

TEST(ForeignHttp2, NginxInClear) {
  ForeignApp app = nginx("http2");
  expect_all_of_nginx(app, [&](const std::string& path) { return h2c_probe(app.port(), path); });
  EXPECT_THAT(text_of(app.file("access")), Not(HasSubstr("HTTP/1")));
}

TEST(ForeignHttp2, NghttpdInClearAndUnderTls) {
  const std::pair<std::string, std::string> page = {"page", "hello"};
  ForeignApp clear({"/usr/sbin/nghttpd", "--no-tls", "-d", "DIR", "PORT"}, {page});
  ForeignApp tls({"/usr/sbin/nghttpd", "-d", "DIR", "PORT", "KEY", "CERT"}, {page});
  Probing probing;

  EXPECT_EQ(probing.run(h2c_probe(clear.port(), "/page")).code, 200);
  EXPECT_EQ(probing.run(h2c_probe(clear.port(), "/none")).code, 404);
  EXPECT_EQ(probing.run(tls_probe(tls.port(), "/page")).code, 200);
  EXPECT_EQ(probing.run(tls_probe(tls.port(), "/none")).code, 404);
  EXPECT_FALSE(probing.run(http_probe(clear.port(), "/page")).healthy) << "HTTP/1 to HTTP/2 only";
}

TEST(ForeignHttp2, TenKibibytesOfALongBodyAreEnough) {
  ForeignApp app({"/usr/sbin/nghttpd", "--no-tls", "-d", "DIR", "PORT"},
                 {{"long", std::string(1 << 20, 'x')}});
  Probing probing;
  const Outcome outcome = probing.run(h2c_probe(app.port(), "/long"));
  EXPECT_TRUE(outcome.healthy) << outcome.reason;
}

TEST(ForeignTls, OpensslWithACertificateNobodyTrusts) {
  ForeignApp app({"openssl", "s_server", "-accept", "127.0.0.1:PORT", "-cert", "CERT", "-key",
                  "KEY", "-www", "-tlsextdebug"});
  Probing probing;

  const Outcome outcome = probing.run(tls_probe(app.port(), "/"));

  EXPECT_TRUE(outcome.healthy) << outcome.reason;
  EXPECT_EQ(outcome.code, 200);
}

TEST(ForeignTls, AnAddressIsNoNameToAskForButANameIs) {
  ForeignApp app({"openssl", "s_server", "-accept", "PORT", "-cert", "CERT", "-key", "KEY", "-HTTP",
                  "-tlsextdebug"});
  Probing probing;
  Probe probe = tls_probe(app.port(), "/");

  probing.run(probe);
  ASSERT_TRUE(eventually([&] { return app.output().contains("application layer"); }, 5s))
      << app.output();
  EXPECT_THAT(app.output(), Not(HasSubstr("\"server name\"")));
  probe.host = "localhost";
  probing.run(probe);
  EXPECT_TRUE(eventually([&] { return app.output().contains("\"server name\""); }, 5s))
      << app.output();
}

TEST(ForeignTls, AnExpiredCertificateIsFine) {
  TempDir dir;
  const std::string key = dir.file("key");
  const std::string cert = dir.file("cert");
  const TestCertificate old = make_test_certificate("old", -1min);
  std::ofstream(key) << old.private_key_pem;
  std::ofstream(cert) << old.certificate_pem;
  const ProgramResult expired =
      run_program({"openssl", "x509", "-in", cert, "-noout", "-checkend", "0"}, 5s);
  ASSERT_EQ(expired.exit_code, 1) << "it is expired";
  ForeignApp app(
      {"openssl", "s_server", "-accept", "127.0.0.1:PORT", "-cert", cert, "-key", key, "-www"});
  Probing probing;

  EXPECT_TRUE(probing.run(tls_probe(app.port(), "/")).healthy);
}

TEST(ForeignTls, ClearAndTlsDoNotUnderstandEachOther) {
  ForeignApp tls = nginx("ssl");
  ForeignApp clear = nginx("");
  Probing probing;

  EXPECT_EQ(probing.run(http_probe(tls.port(), "/ok")).code, 400);
  const Outcome outcome = probing.run(tls_probe(clear.port(), "/ok"));
  EXPECT_FALSE(outcome.healthy);
  EXPECT_THAT(outcome.reason, StartsWith("HF7004: TLS"));
}

TEST(ForeignTls, ARedirectMayLeadIntoTlsAndOutOfIt) {
  ForeignApp tls = nginx("ssl http2");
  ForeignApp clear = nginx("");
  const std::string into = fmt::format("/to/https/{}", tls.port());
  const std::string out = fmt::format("/to/http/{}", clear.port());
  Probing probing;

  EXPECT_EQ(probing.run(http_probe(clear.port(), into)).code, 200);
  EXPECT_EQ(probing.run(http_probe(clear.port(), into + "/no")).code, 503);
  EXPECT_EQ(probing.run(tls_probe(tls.port(), out)).code, 200);
  EXPECT_EQ(probing.run(tls_probe(tls.port(), out + "/no")).code, 503);
}

// s_server with -www speaks HTTP/1 alone, so HTTP/2 would not be understood.
TEST(ForeignTls, HttpIsSpokenAsTheApplicationPrefers) {
  const auto choosing = [](const std::string& protocols) {
    return ForeignApp({"openssl", "s_server", "-accept", "127.0.0.1:PORT", "-cert", "CERT", "-key",
                       "KEY", "-www", "-alpn", protocols});
  };
  const ForeignApp prefers_http1 = choosing("http/1.1,h2");
  const ForeignApp prefers_http2 = choosing("h2,http/1.1");
  const ForeignApp knows_neither = choosing("spdy/3");
  Probing probing;

  EXPECT_EQ(probing.run(tls_probe(prefers_http1.port(), "/")).code, 200);
  Probe misled = tls_probe(prefers_http2.port(), "/");
  misled.timeout = 1s;
  EXPECT_FALSE(probing.run(misled).healthy) << "it is asked in HTTP/2, as it wishes";
  const Outcome neither = probing.run(tls_probe(knows_neither.port(), "/"));
  EXPECT_FALSE(neither.healthy);
  EXPECT_THAT(neither.reason, StartsWith("HF7004: TLS"));
}

TEST(ForeignGrpc, EveryStatusOfAHealthService) {
  const auto app = grpc_app("plain");
  Probing probing;
  const auto run = [&](const std::string& name) {
    return probing.run(grpc_probe(app->port(), name));
  };

  for (const char* serving : {"", "up", "/startup", "\xc3\xa4 b"}) {
    const Outcome outcome = run(serving);
    EXPECT_TRUE(outcome.healthy) << serving << ": " << outcome.reason;
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(outcome.reason, "SERVING");
  }
  EXPECT_EQ(run("down").reason, "HF7003: NOT_SERVING (2)");
  EXPECT_EQ(run("down").code, 2);
  EXPECT_EQ(run("none").reason, "HF7003: SERVICE_UNKNOWN (3)");
  EXPECT_EQ(run("zero").reason, "HF7003: UNKNOWN (0)");
  EXPECT_EQ(run("absent").reason, "HF7003: gRPC NOT_FOUND (5)");
  EXPECT_EQ(run("denied").reason, "HF7003: gRPC PERMISSION_DENIED (7)");
  for (const char* unwell : {"down", "none", "zero", "absent", "denied"}) {
    EXPECT_FALSE(run(unwell).healthy) << unwell;
    EXPECT_FALSE(run(unwell).error) << unwell;
  }
}

TEST(ForeignGrpc, SendsWhatTheKubeletSends) {
  const auto app = grpc_app("plain");
  Probing probing;
  probing.run(grpc_probe(app->port(), "up"));

  EXPECT_THAT(text_of(app->file("seen")),
              StartsWith(fmt::format("up|127.0.0.1:{}|kube-probe/1.0 grpc-", app->port())));
  EXPECT_THAT(text_of(app->file("seen")), testing::ContainsRegex("\\|(3\\.0|2\\.[0-9])"))
      << "grpc-timeout";
}

TEST(ForeignGrpc, Ipv6StandsInBrackets) {
  const auto app = grpc_app("plain", "[::1]");
  Probing probing({.address = "::1"});

  EXPECT_TRUE(probing.run(grpc_probe(app->port(), "up")).healthy);
  EXPECT_THAT(text_of(app->file("seen")), HasSubstr(fmt::format("|[::1]:{}|", app->port())));
}

TEST(ForeignGrpc, TlsIsUnverified) {
  const auto app = grpc_app("tls");
  Probing probing;

  EXPECT_TRUE(probing.run(grpc_probe(app->port(), "up", true)).healthy);
  EXPECT_FALSE(probing.run(grpc_probe(app->port(), "down", true)).healthy);
  EXPECT_FALSE(probing.run(grpc_probe(app->port(), "up", false)).healthy) << "in clear";
}

// It prefers HTTP/1, and must not be given the choice.
TEST(ForeignGrpc, UnderTlsHttp2AloneIsOffered) {
  ForeignApp app({"openssl", "s_server", "-accept", "127.0.0.1:PORT", "-cert", "CERT", "-key",
                  "KEY", "-HTTP", "-msg", "-alpn", "http/1.1,h2"});
  const auto chosen = [&](const std::string& protocol) {
    return eventually(
        [&] { return app.output().contains("ALPN protocols selected: " + protocol + "\n"); }, 10s);
  };
  Probing probing;
  Probe probe = grpc_probe(app.port(), "", true);
  probe.timeout = 1s;

  EXPECT_FALSE(probing.run(probe).healthy) << "it answers no gRPC";
  EXPECT_TRUE(chosen("h2")) << app.output();
  EXPECT_THAT(app.output(), Not(HasSubstr("http/1.1")));
  probing.run(tls_probe(app.port(), "/"));
  EXPECT_TRUE(chosen("http/1.1")) << "an HTTP probe offers both: " << app.output();
}

TEST(ForeignGrpc, AServerWithoutHealthIsNotHealthy) {
  const auto app = grpc_app("bare");
  Probing probing;
  const Outcome outcome = probing.run(grpc_probe(app->port(), ""));

  EXPECT_FALSE(outcome.healthy);
  EXPECT_EQ(outcome.code, 12);
  EXPECT_THAT(outcome.reason, StartsWith("HF7003: gRPC UNIMPLEMENTED (12)"));
}

TEST(ForeignGrpc, ASlowAnswerFailsAfterTheTimeout) {
  const auto app = grpc_app("plain");
  Probing probing;
  std::chrono::milliseconds took{};
  Probe probe = grpc_probe(app->port(), "slow");
  probe.timeout = 1s;

  const Outcome outcome = probing.timed(probe, took);

  EXPECT_FALSE(outcome.healthy);
  EXPECT_GE(took, 900ms);
  EXPECT_LT(took, 8s);
}

TEST(ForeignGrpc, AnHttp1ServerAndARefusalFailAfterTheWholeTimeout) {
  ForeignApp http1 = nginx("");
  Probing probing;
  for (const uint16_t port : {http1.port(), free_ports(1)[0]}) {
    std::chrono::milliseconds took{};
    Probe probe = grpc_probe(port, "");
    probe.timeout = 1s;

    const Outcome outcome = probing.timed(probe, took);

    EXPECT_FALSE(outcome.healthy);
    EXPECT_GE(took, 950ms) << outcome.reason;
    EXPECT_LT(took, 8s);
  }
}

}  // namespace
}  // namespace holdfast::test
