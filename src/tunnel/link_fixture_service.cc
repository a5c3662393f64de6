#include "tunnel/link_fixture_service.h"

#include <netinet/in.h>
#include <unistd.h>

#include <cerrno>

#include "identity/certificate.h"

namespace holdfast::tunnel {
namespace {

constexpr Duration kPatience = 10s;

identity::Validity day() {
  const WallTime now = SystemClock().wall_now();
  return {.not_before = now - std::chrono::hours(1), .not_after = now + std::chrono::hours(24)};
}

net::StreamSocket adopt(const asio::any_io_executor& loop, int family, int socket) {
  return {loop, asio::generic::stream_protocol(family, 0), socket};
}

struct TcpPair {
  int first, second;
};
TcpPair connect_loopback(int buffer_bytes) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof address;
  auto* as_any = reinterpret_cast<sockaddr*>(&address);
  const int first = ::socket(AF_INET, SOCK_STREAM, 0);
  for (const int socket : {listener, first}) {
    if (buffer_bytes == 0) break;
    ::setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &buffer_bytes, sizeof buffer_bytes);
    ::setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &buffer_bytes, sizeof buffer_bytes);
  }
  EXPECT_EQ(::bind(listener, as_any, size), 0);
  EXPECT_EQ(::listen(listener, 1), 0);
  EXPECT_EQ(::getsockname(listener, as_any, &size), 0);
  EXPECT_EQ(::connect(first, as_any, size), 0);
  const int second = ::accept(listener, nullptr, nullptr);
  ::close(listener);
  return {first, second};
}

}  // namespace

TestAuthority::TestAuthority() : ca_(identity::make_authority("test", day()).value()) {}

TestIdentity TestAuthority::issue(identity::Role role, const std::string& name) const {
  const std::string key = identity::make_private_key().value();
  const identity::CertificateSpec spec{
      .identity = {.role = role, .cluster = "test", .name = name, .zone = "a"}, .validity = day()};
  return {
      .certificate_pem = identity::issue(ca_, spec, identity::make_request(key).value()).value(),
      .private_key_pem = key};
}

TestSocket& TestSocket::operator=(TestSocket&& other) noexcept {
  close();
  socket_ = std::exchange(other.socket_, -1);
  ended = other.ended;
  was_reset = other.was_reset;
  return *this;
}
void TestSocket::close() {
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
}
void TestSocket::cut() {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close();
}
size_t TestSocket::write(std::string_view bytes) {
  const ssize_t count = ::send(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  return count < 0 ? 0 : static_cast<size_t>(count);
}
std::string TestSocket::read() {
  std::string all;
  char buffer[16 << 10];
  for (;;) {
    const ssize_t count = ::recv(socket_, buffer, sizeof buffer, MSG_DONTWAIT);
    if (count == 0 && !was_reset) ended = true;
    if (count < 0 && errno == ECONNRESET) was_reset = true;
    if (count <= 0) return all;
    all.append(buffer, static_cast<size_t>(count));
  }
}
void TestSocket::end() {
  ::shutdown(socket_, SHUT_WR);
}

SocketPair make_unix_pair(const asio::any_io_executor& loop) {
  int sockets[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
  return {.inner = adopt(loop, AF_UNIX, sockets[0]), .outer = TestSocket(sockets[1])};
}
SocketPair make_tcp_pair(const asio::any_io_executor& loop) {
  const TcpPair pair = connect_loopback(0);
  return {.inner = adopt(loop, AF_INET, pair.first), .outer = TestSocket(pair.second)};
}

LinkSide::~LinkSide() {
  EXPECT_TRUE(ended.has_value() || link == nullptr);
}

void LinkSide::on_open(Link& from, StreamId stream, std::string_view payload) {
  if (answer) return answer(from, stream, payload);
  from.accept(stream, make_end(apps[std::string(payload)]));
}

Status LinkSide::on_message(Link& /*link*/, std::string_view payload) {
  messages.emplace_back(payload);
  if (payload == "wrong") return absl::InvalidArgumentError("a wrong message");
  return absl::OkStatus();
}

void LinkSide::start(std::unique_ptr<SecureConnection> connection, LinkOptions options) {
  link = std::make_unique<Link>(
      Link::Parts{.loop = loop.get_executor(), .clock = clock, .buffers = buffers, .owner = *this},
      std::move(connection), options);
  tasks.spawn(run_link());
}

asio::awaitable<void> LinkSide::run_link() {
  ended = co_await link->run();
}

std::unique_ptr<StreamEnd> LinkSide::make_end(TestSocket& outer) {
  SocketPair pair =
      uses_tcp ? make_tcp_pair(loop.get_executor()) : make_unix_pair(loop.get_executor());
  outer = std::move(pair.outer);
  living_ends += 1;
  const auto on_ended = [this](const EndReport& report) {
    living_ends -= 1;
    reports.push_back(report);
  };
  return std::make_unique<SocketEnd>(std::move(pair.inner), SocketEndOptions{.on_ended = on_ended});
}

void LinkSide::open(const std::string& payload, std::unique_ptr<StreamEnd> end, Duration timeout) {
  tasks.spawn(run_open(payload, std::move(end), timeout));
}

asio::awaitable<void> LinkSide::run_open(std::string payload, std::unique_ptr<StreamEnd> end,
                                         Duration timeout) {
  const Status status = co_await link->open(payload, end, timeout);
  EXPECT_EQ(status.ok(), end == nullptr);
  opened[payload] = status;
}

LinkTest::LinkTest() {
  EXPECT_TRUE(trust_.set("test", authority_.ca_pem()).ok());
}

void LinkTest::TearDown() {
  for (LinkSide* side : {&proxy_, &agent_}) {
    bool joined = side->tasks.size() == 0;
    const auto join = [](LinkSide& owner, bool& done) -> asio::awaitable<void> {
      co_await owner.tasks.join();
      done = true;
    };
    net::TaskGroup joiner(side->loop.get_executor());
    joiner.spawn(join(*side, joined));
    EXPECT_TRUE(run_until([&] { return joined && joiner.size() == 0; }));
    EXPECT_EQ(side->living_ends, 0) << "ends that nobody destroyed";
    side->link.reset();
  }
}

LinkTest::Connected LinkTest::connect(int buffer_bytes) {
  const TestIdentity proxy = authority_.issue(identity::Role::Proxy, "edge-1");
  const TestIdentity agent = authority_.issue(identity::Role::Agent, "db-7");
  const std::vector<std::string> protocols = {std::string(kTunnelProtocol)};
  const auto server = net::TlsContext::make_tunnel_server({.certificate_pem = proxy.certificate_pem,
                                                           .private_key_pem = proxy.private_key_pem,
                                                           .protocols = protocols});
  const auto client =
      net::TlsContext::make_tunnel_client({.certificate_pem = agent.certificate_pem,
                                           .private_key_pem = agent.private_key_pem,
                                           .protocols = protocols,
                                           .ca_pem = authority_.ca_pem(),
                                           .server_name = std::string(identity::kProxyServerName)});
  const TcpPair pair = connect_loopback(buffer_bytes);
  Connected made;
  const auto shake = [](SSL* ssl, bool& done) {
    if (!done) done = SSL_do_handshake(ssl) == 1;
  };
  made.proxy = std::make_unique<SecureConnection>(
      adopt(proxy_.loop.get_executor(), AF_INET, pair.second), *server, nullptr);
  made.agent = std::make_unique<SecureConnection>(
      adopt(agent_.loop.get_executor(), AF_INET, pair.first), *client, nullptr);
  for (SecureConnection* side : {made.proxy.get(), made.agent.get()}) {
    side->socket.native_non_blocking(true);
  }
  made.proxy->ssl = (*server)->accept_on(pair.second);
  made.agent->ssl = (*client)->connect_on(pair.first, "127.0.0.1");
  bool proxy_done = false, agent_done = false;
  EXPECT_TRUE(run_until([&] {
    shake(made.agent->ssl.get(), agent_done);
    shake(made.proxy->ssl.get(), proxy_done);
    return proxy_done && agent_done;
  }));
  return made;
}

void LinkTest::start(LinkOptions options) {
  start_sides(connect(), options);
}

void LinkTest::start_sides(Connected connected, LinkOptions options) {
  options.session.side = Side::Opener;
  proxy_.start(std::move(connected.proxy), options);
  options.session.side = Side::Acceptor;
  agent_.start(std::move(connected.agent), options);
}

bool LinkTest::run_until(const std::function<bool()>& condition, bool with_agent) {
  const Time limit = proxy_.clock.now() + kPatience;
  while (proxy_.clock.now() < limit) {
    if (condition()) return true;
    proxy_.loop.restart();
    agent_.loop.restart();
    const size_t done = proxy_.loop.poll() + (with_agent ? agent_.loop.poll() : 0);
    if (done == 0) proxy_.loop.run_one_for(1ms);
  }
  return condition();
}

TestSocket LinkTest::open(const std::string& payload) {
  TestSocket client;
  proxy_.open(payload, proxy_.make_end(client));
  EXPECT_TRUE(run_until([&] { return proxy_.opened.contains(payload); }));
  EXPECT_TRUE(proxy_.opened[payload].ok()) << proxy_.opened[payload];
  return client;
}

}  // namespace holdfast::tunnel
