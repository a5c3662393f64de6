// Who may talk to etcd and what is said when it cannot be reached: TLS with client certificates,
// users with passwords, tokens that expire, and nobody there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <boost/asio/io_context.hpp>

#include <fstream>
#include <optional>

#include "integration/etcd_cluster.h"
#include "store/etcd_store.h"
#include "store/store_contract_fixture.h"
#include "support/eventually.h"
#include "support/free_ports.h"

namespace holdfast::store {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// A store and a loop for it.
struct Session {
  explicit Session(const EtcdOptions& options) : store(io.get_executor(), options, clock) {}
  Result<Revision> write(std::string key) {
    std::vector<Operation> operations(1, put(std::move(key), "v"));
    return run(io, store.commit(std::move(operations)));
  }
  SystemClock clock;
  asio::io_context io;
  EtcdStore store;
};

EtcdOptions options_for(const test::EtcdCluster& cluster) {
  EtcdOptions options;
  options.endpoints = cluster.endpoints();
  return options;
}

void must_run(std::vector<std::string> arguments) {
  const auto result = test::run_program(std::move(arguments), 20s);
  ASSERT_EQ(result.exit_code, 0) << result.output;
}

// A CA and certificates signed by it, made by openssl.
class Authority {
 public:
  Authority() {
    must_run({"openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
              "/CN=test CA", "-keyout", file("ca.key"), "-out", file("ca.pem")});
    sign("server", "subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n");
    sign("client", "extendedKeyUsage=clientAuth\n");
  }

  std::string file(std::string_view name) const { return folder_.file(name); }
  rpc::TlsOptions tls(bool with_certificate) const {
    rpc::TlsFiles files{.ca = file("ca.pem")};
    if (with_certificate) files.certificate = file("client.pem");
    if (with_certificate) files.private_key = file("client.key");
    return *rpc::load_tls(files);
  }

 private:
  void sign(const std::string& name, const std::string& extensions) {
    std::ofstream(file(name + ".ext")) << extensions;
    must_run({"openssl", "req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=" + name, "-keyout",
              file(name + ".key"), "-out", file(name + ".csr")});
    must_run({"openssl", "x509", "-req", "-days", "2", "-in", file(name + ".csr"), "-CA",
              file("ca.pem"), "-CAkey", file("ca.key"), "-CAcreateserial", "-extfile",
              file(name + ".ext"), "-out", file(name + ".pem")});
  }

  test::TempDir folder_;
};

TEST(EtcdTls, OnlyAClientWithACertificateIsServed) {
  const Authority authority;
  test::EtcdCluster cluster(
      {.arguments = {"--cert-file=" + authority.file("server.pem"),
                     "--key-file=" + authority.file("server.key"),
                     "--trusted-ca-file=" + authority.file("ca.pem"), "--client-cert-auth"},
       .scheme = "https",
       .tls = authority.tls(true)});
  EtcdOptions options = options_for(cluster);
  options.tls = authority.tls(true);
  Session welcome(options);
  options.request_timeout = 800ms;  // of those who are refused
  options.tls = authority.tls(false);
  Session stranger(options);
  options.tls.reset();
  Session plaintext(options);
  options.tls = authority.tls(true);
  options.tls->server_name = "elsewhere.example";
  Session misled(options);

  EXPECT_TRUE(welcome.write("a").ok());
  EXPECT_EQ(run(welcome.io, welcome.store.get("a"))->value, "v");
  EXPECT_EQ(stranger.write("b").status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(plaintext.write("b").status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(misled.write("b").status().code(), absl::StatusCode::kUnavailable);
  EXPECT_FALSE(run(welcome.io, welcome.store.get("b")).ok());
}

// One member where root has the password "correct" and a token lives for a second.
class EtcdAuth : public testing::Test {
 protected:
  EtcdAuth() : cluster_({.arguments = {"--auth-token-ttl=1"}}) {
    etcdctl({"user", "add", "root:correct"});
    etcdctl({"user", "grant-role", "root", "root"});
    etcdctl({"auth", "enable"});
  }

  void etcdctl(std::vector<std::string> arguments) {
    std::vector<std::string> all = {"env", "ETCDCTL_API=3", "etcdctl",
                                    "--endpoints=" + cluster_.endpoints()[0]};
    all.insert(all.end(), arguments.begin(), arguments.end());
    must_run(std::move(all));
  }

  EtcdOptions options(std::string password) {
    EtcdOptions options = options_for(cluster_);
    options.username = "root";
    options.password = std::move(password);
    return options;
  }

  test::EtcdCluster cluster_;
};

TEST_F(EtcdAuth, AWrongPasswordIsAClearError) {
  Session session(options("wrong"));

  const auto written = session.write("a");

  EXPECT_EQ(written.status().code(), absl::StatusCode::kUnauthenticated) << written.status();
  EXPECT_THAT(std::string(written.status().message()), HasSubstr("refused user \"root\""));
  EXPECT_THAT(std::string(written.status().message()), testing::Not(HasSubstr("\"wrong\"")));
}

TEST_F(EtcdAuth, WithoutAUserNothingIsServed) {
  EtcdOptions anonymous = options("");
  anonymous.username.clear();
  Session session(anonymous);

  EXPECT_EQ(session.write("a").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(EtcdAuth, AnExpiredOrForgottenTokenIsRenewed) {
  Session session(options("correct"));
  const auto first = session.write("a");
  ASSERT_TRUE(first.ok()) << first.status();
  auto watch = *run(session.io, session.store.watch(KeyRange{}, *first));

  test::let_pass(2500ms);
  EXPECT_TRUE(session.write("b").ok()) << "after the token's life";
  EXPECT_EQ(run(session.io, watch->next())->at(0).item.key, "b");
  cluster_.kill(0);
  cluster_.restart(0);
  cluster_.wait_until_ready(0);
  const auto after_restart = session.write("c");
  EXPECT_TRUE(after_restart.ok()) << "after its member forgot it: " << after_restart.status();
  EXPECT_EQ(run(session.io, watch->next())->at(0).item.key, "c");
}

TEST(EtcdUnreachable, TheErrorNamesTheEndpointsWithinTheTimeout) {
  const auto ports = test::free_ports(2);
  EtcdOptions options;
  options.endpoints = {fmt::format("127.0.0.1:{}", ports[0]),
                       fmt::format("127.0.0.1:{}", ports[1])};
  options.request_timeout = 700ms;
  Session session(options);
  const Time start = session.clock.now();

  const auto read = run(session.io, session.store.get("a"));
  const auto written = session.write("a");

  EXPECT_LT((session.clock.now() - start) / 1ms, 8000);
  for (const Status& status : {read.status(), written.status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    for (const std::string& endpoint : options.endpoints) {
      EXPECT_THAT(std::string(status.message()), HasSubstr(endpoint));
    }
    EXPECT_THAT(std::string(status.message()), testing::Not(HasSubstr("outcome unknown")));
  }
}

TEST(EtcdUnreachable, ClosingAWatchEndsItsSearchForAMember) {
  auto cluster = std::make_unique<test::EtcdCluster>(test::EtcdClusterOptions{});
  Session session(options_for(*cluster));
  auto watch = *run(session.io, session.store.watch(KeyRange{}, *session.write("a")));
  cluster.reset();
  std::optional<Status> ended;
  asio::co_spawn(session.io, watch->next(),
                 [&ended](std::exception_ptr, Result<std::vector<Change>> changes) {
                   ended = changes.status();
                 });
  session.io.restart();
  session.io.run_for(300ms);
  EXPECT_EQ(ended, std::nullopt);

  watch->close();
  const Time start = session.clock.now();
  while (!ended) session.io.run_one();

  EXPECT_EQ(ended->code(), absl::StatusCode::kCancelled);
  EXPECT_LT((session.clock.now() - start) / 1ms, 5000);
}

}  // namespace
}  // namespace holdfast::store
