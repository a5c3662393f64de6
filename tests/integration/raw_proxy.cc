#include "raw_proxy.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>

#include "base/check.h"
#include "resource/proto_time.h"

namespace holdfast::test {

using tunnel::Link;

RawProxy::RawProxy(asio::io_context& loop, RawProxyOptions options)
    : loop_(loop),
      options_(std::move(options)),
      acceptor_(loop, {asio::ip::address_v4::loopback(), options_.port}),
      port_(acceptor_.local_endpoint().port()),
      tasks_(loop.get_executor()) {
  const std::string cluster = identity::identity_of(options_.pems.certificate)->cluster;
  HF_CHECK(trust_.set(cluster, options_.pems.ca).ok(), "an authority");
  context_ =
      net::TlsContext::make_tunnel_server({.certificate_pem = options_.pems.certificate,
                                           .private_key_pem = options_.pems.private_key,
                                           .protocols = {std::string(tunnel::kTunnelProtocol)}})
          .value();
  tasks_.spawn(accept());
}

std::string RawProxy::address() const {
  return "127.0.0.1:" + std::to_string(port_);
}

v1::DiscoveredProxy RawProxy::discovered() const {
  v1::DiscoveredProxy proxy;
  proxy.set_name(options_.name);
  proxy.set_zone(options_.zone);
  proxy.set_tunnel_address(address());
  *proxy.mutable_ttl() = resource::to_proto(Duration(std::chrono::minutes(1)));
  return proxy;
}

asio::awaitable<void> RawProxy::accept() {
  for (;;) {
    auto [error, socket] = co_await acceptor_.async_accept(asio::as_tuple(asio::use_awaitable));
    if (error) co_return;
    tasks_.spawn(serve(std::move(socket)));
  }
}

asio::awaitable<void> RawProxy::serve(net::StreamSocket socket) {
  tunnel::Secured secured = co_await tunnel::secure_accept(
      std::move(socket), {.trust = trust_, .clock = clock_}, {.context = context_});
  if (!secured.ok()) co_return;
  ++handshakes_;
  const auto at = held_.emplace(held_.end());
  at->link = std::make_unique<Link>(
      Link::Parts{
          .loop = loop_.get_executor(), .clock = clock_, .buffers = buffers_, .owner = *this},
      *std::move(secured), tunnel::LinkOptions{});
  const Status ended = co_await at->link->run();
  held_.erase(at);
}

RawProxy::Held& RawProxy::held(const Link& link) {
  return *std::ranges::find_if(held_, [&](const Held& one) { return one.link.get() == &link; });
}

void RawProxy::on_open(Link& link, tunnel::StreamId stream, std::string_view /*payload*/) {
  link.reset(stream, tunnel::ResetCode::NotAllowed, "agents open nothing");
}

Status RawProxy::on_message(Link& link, std::string_view payload) {
  v1::TunnelMessage message;
  HF_CHECK(message.ParseFromArray(payload.data(), static_cast<int>(payload.size())), "a message");
  Held& tunnel = held(link);
  if (message.has_exposed()) tunnel.exposed = message.exposed();
  if (message.has_hello()) ++hellos_;
  if (!message.has_hello() || !options_.answers) return absl::OkStatus();
  tunnel.hello = message.hello();
  tunnel.exposed = message.hello().exposed();
  v1::TunnelMessage answer;
  if (options_.refusal) {
    *answer.mutable_refusal() = *options_.refusal;
  } else {
    v1::TunnelWelcome& welcome = *answer.mutable_welcome();
    welcome.set_name(options_.said.empty() ? options_.name : options_.said);
    welcome.set_zone(options_.zone);
    tunnel.welcomed = true;
  }
  TRY_OK(link.send(answer.SerializeAsString()));
  if (options_.refusal) link.say_goodbye("refused");
  return absl::OkStatus();
}

void RawProxy::on_goodbye(Link& link, std::string_view /*why*/) {
  held(link).said_goodbye = true;
}

void RawProxy::send(const v1::TunnelMessage& message) {
  for (Held& tunnel : held_) {
    if (tunnel.welcomed) (void)tunnel.link->send(message.SerializeAsString());
  }
}

void RawProxy::discover(const std::vector<const RawProxy*>& proxies) {
  v1::TunnelMessage message;
  message.mutable_discovery()->set_full(true);
  for (const RawProxy* proxy : proxies) {
    *message.mutable_discovery()->add_proxies() = proxy->discovered();
  }
  send(message);
}

void RawProxy::advise(Duration closes_in) {
  v1::TunnelMessage message;
  message.mutable_advice()->set_code("HF2110");
  message.mutable_advice()->set_reason("the proxy drains");
  *message.mutable_advice()->mutable_closes_in() = resource::to_proto(closes_in);
  send(message);
}

void RawProxy::cut() {
  for (Held& tunnel : held_) tunnel.link->close(absl::UnavailableError("cut"));
}

asio::awaitable<void> RawProxy::stop() {
  boost::system::error_code ignored;  // closed either way
  acceptor_.close(ignored);
  co_await tasks_.join();
}

}  // namespace holdfast::test
