#include "tunnel/secure_connection_service.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/reason.h"
#include "net/as_value.h"
#include "net/within.h"
#include "tunnel/link_fixture_service.h"

namespace holdfast::tunnel {
namespace {

using asio::ip::tcp;
using identity::Role;
using testing::HasSubstr;

using net::kAsValue;

class SecureConnectionTest : public testing::Test {
 protected:
  SecureConnectionTest() { EXPECT_TRUE(trust_.set("test", authority_.ca_pem()).ok()); }

  std::shared_ptr<const net::TlsContext> server(const TestIdentity& own) const {
    return net::TlsContext::make_tunnel_server({.certificate_pem = own.certificate_pem,
                                                .private_key_pem = own.private_key_pem,
                                                .protocols = {std::string(kTunnelProtocol)}})
        .value();
  }
  std::shared_ptr<const net::TlsContext> client(const TestIdentity& own,
                                                const std::string& protocol) const {
    return net::TlsContext::make_tunnel_client(
               {.certificate_pem = own.certificate_pem,
                .private_key_pem = own.private_key_pem,
                .protocols = {protocol},
                .ca_pem = authority_.ca_pem(),
                .server_name = std::string(identity::kProxyServerName)})
        .value();
  }

  asio::awaitable<void> accept_one() {
    auto [error, socket] = co_await acceptor_.async_accept(kAsValue);
    accepted_ = co_await secure_accept(std::move(socket), {.trust = trust_, .clock = clock_},
                                       {.context = server_, .timeout = timeout_});
  }
  asio::awaitable<void> connect_one(std::string address) {
    connected_ = co_await secure_connect(std::move(address), {.trust = trust_, .clock = clock_},
                                         {.context = client_, .timeout = timeout_});
  }
  std::string address() const {
    return "127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
  }
  void run(bool with_client = true) {
    net::TaskGroup tasks(loop_.get_executor());
    tasks.spawn(accept_one());
    if (with_client) tasks.spawn(connect_one(address()));
    loop_.run_for(std::chrono::seconds(10));
    EXPECT_EQ(tasks.size(), 0U);
  }

  TestAuthority authority_;
  identity::Trust trust_;
  SystemClock clock_;
  asio::io_context loop_{1};
  tcp::acceptor acceptor_{loop_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
  Duration timeout_ = 5s;
  std::shared_ptr<const net::TlsContext> server_ = server(authority_.issue(Role::Proxy, "edge-1"));
  std::shared_ptr<const net::TlsContext> client_ =
      client(authority_.issue(Role::Agent, "db-7"), std::string(kTunnelProtocol));
  Secured accepted_ = absl::UnknownError("not yet"), connected_ = absl::UnknownError("not yet");
};

TEST_F(SecureConnectionTest, BothSidesKnowEachOther) {
  run();

  ASSERT_TRUE(accepted_.ok()) << accepted_.status();
  ASSERT_TRUE(connected_.ok()) << connected_.status();
  EXPECT_EQ((*accepted_)->peer.name, "db-7");
  EXPECT_EQ((*accepted_)->peer.role, Role::Agent);
  EXPECT_EQ((*accepted_)->peer.zone, "a");
  EXPECT_EQ((*connected_)->peer.name, "edge-1");
  EXPECT_EQ((*connected_)->address, address());
  EXPECT_EQ((*accepted_)->alpn, kTunnelProtocol);
  EXPECT_STREQ(SSL_get_cipher((*accepted_)->ssl.get()), "TLS_AES_128_GCM_SHA256");
  EXPECT_STREQ(SSL_get_version((*connected_)->ssl.get()), "TLSv1.3");
}

TEST_F(SecureConnectionTest, AnAgentOfAnotherClusterIsRefused) {
  const TestAuthority other;
  client_ = client(other.issue(Role::Agent, "db-7"), std::string(kTunnelProtocol));

  run();

  EXPECT_EQ(split_reason(accepted_.status()).code, "HF5004");
}

TEST_F(SecureConnectionTest, AProxyOfAnotherClusterIsNotBelieved) {
  const TestAuthority other;
  server_ = server(other.issue(Role::Proxy, "edge-1"));

  run();

  EXPECT_EQ(split_reason(connected_.status()).code, "HF5004");
}

TEST_F(SecureConnectionTest, WhoeverIsNotAProxyIsNotBelieved) {
  for (const Role role : {Role::Agent, Role::Controller}) {
    server_ = server(authority_.issue(role, "edge-1"));
    run();
    EXPECT_EQ(split_reason(connected_.status()).code, "HF2022");
    loop_.restart();
  }
}

TEST_F(SecureConnectionTest, WithoutACommonProtocolThereIsNoConnection) {
  client_ = client(authority_.issue(Role::Proxy, "edge-2"), std::string(kPeerProtocol));

  run();

  EXPECT_EQ(split_reason(accepted_.status()).code, "HF2021");
  EXPECT_EQ(split_reason(connected_.status()).code, "HF2021");
}

TEST_F(SecureConnectionTest, AClientThatSaysNothingIsCutAtTheDeadline) {
  timeout_ = 50ms;
  tcp::socket silent(loop_);
  silent.connect(acceptor_.local_endpoint());

  run(false);

  EXPECT_EQ(accepted_.status().code(), absl::StatusCode::kDeadlineExceeded);
  char byte = 0;
  boost::system::error_code error;
  silent.read_some(asio::buffer(&byte, 1), error);
  EXPECT_TRUE(error);
}

TEST_F(SecureConnectionTest, GarbageIsNoHandshake) {
  tcp::socket rude(loop_);
  rude.connect(acceptor_.local_endpoint());
  rude.write_some(asio::buffer(std::string("GET / HTTP/1.1\r\n\r\n")));

  run(false);

  EXPECT_EQ(split_reason(accepted_.status()).code, "HF2021");
}

TEST_F(SecureConnectionTest, NobodyAtTheAddressSaysSo) {
  const std::string nowhere = address();
  acceptor_.close();
  net::TaskGroup tasks(loop_.get_executor());

  tasks.spawn(connect_one(nowhere));
  loop_.run_for(std::chrono::seconds(10));

  EXPECT_EQ(split_reason(connected_.status()).code, "HF2020");
  EXPECT_THAT(std::string(connected_.status().message()), HasSubstr(nowhere));
}

}  // namespace
}  // namespace holdfast::tunnel
