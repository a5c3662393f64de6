#include "ingress/ingress_service.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <list>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "base/reason.h"
#include "ingress/client_service.h"
#include "ingress/public_client_service.h"
#include "ingress/socket_client_service.h"
#include "net/http_address.h"
#include "net/task_group.h"

namespace holdfast::ingress {
namespace {

using asio::ip::tcp;

constexpr int kBacklog = 4'096;
constexpr std::chrono::milliseconds kAcceptPause(100);  // when there are no descriptors left
constexpr std::chrono::milliseconds kGaugePeriod(1'000);

struct Listener {
  tcp::acceptor acceptor;
  ListenerSpec spec{};
  bool is_public = false;

  const char* kind() const {
    if (is_public) return "public";
    return spec.kind == ListenerSpec::Kind::Tcp ? "tcp" : "sni";
  }
  bool waits() const { return is_public || spec.kind == ListenerSpec::Kind::Sni; }
};

boost::system::error_code bind_to(tcp::acceptor& acceptor, const tcp::endpoint& endpoint,
                                  bool reuse_port) {
  boost::system::error_code error;
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error && reuse_port) {
    using ReusePort = asio::detail::socket_option::boolean<SOL_SOCKET, SO_REUSEPORT>;
    acceptor.set_option(ReusePort(true), error);
  }
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.non_blocking(true, error);
  return error;
}

void prepare(tcp::socket& socket) {
  boost::system::error_code ignored;  // a connection that is gone has no options
  socket.set_option(tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  const int seconds[][2] = {{TCP_KEEPIDLE, 60}, {TCP_KEEPINTVL, 15}, {TCP_KEEPCNT, 4}};
  for (const auto& [option, value] : seconds) {
    ::setsockopt(socket.native_handle(), IPPROTO_TCP, option, &value, sizeof(value));
  }
  socket.native_non_blocking(true, ignored);
}

}  // namespace

struct IngressService::State {
  State(Parts parts, const IngressOptions& options)
      : shared{.parts = std::move(parts),
               .options = options,
               .metrics = std::make_shared<IngressMetrics>(shared.parts.registry),
               .limits = std::make_shared<net::ConnectionLimits>(bounds(options))},
        late_limits(std::make_shared<net::ConnectionLimits>(bounds(options))),
        tasks(shared.parts.loop) {}

  Result<std::string> start(const std::string& address, ListenerSpec spec, bool is_public);
  void open(Listener& listener);
  asio::awaitable<void> accept(Listener& listener);
  asio::awaitable<void> show_gauges();
  void take(Listener& listener, tcp::socket socket, const tcp::endpoint& peer);
  void drain(Listener& listener);

  size_t open() const { return shared.limits->open() + late_limits->open(); }
  size_t waiting() const { return shared.limits->waiting() + late_limits->waiting(); }

  IngressShared shared;
  net::ConnectionSlot::Limits late_limits;  // of those that came after stop_listening()
  std::list<Listener> listeners;  // those that are closed, too: their clients read the spec
  bool is_late = false;           // no new clients are taken
  bool is_open = false;
  bool stopping = false;
  net::TaskGroup tasks;
};

Result<std::string> IngressService::State::start(const std::string& address, ListenerSpec spec,
                                                 bool is_public) {
  TRY(const net::ListenAddress parsed, net::parse_listen_address(address));
  if (!parsed.socket_file.empty()) {
    return absl::InvalidArgumentError(fmt::format("{}: clients come by TCP", address));
  }
  tcp::endpoint endpoint;
  endpoint.resize(parsed.endpoint.size());
  std::memcpy(endpoint.data(), parsed.endpoint.data(), parsed.endpoint.size());
  tcp::acceptor acceptor(shared.parts.loop);
  const auto failed = bind_to(acceptor, endpoint, shared.options.reuse_port);
  if (failed) {
    return coded(absl::StatusCode::kUnavailable, "HF1106",
                 fmt::format("cannot listen on {}: {}", address, failed.message()));
  }
  boost::system::error_code error;
  const std::string bound = net::to_text(acceptor.local_endpoint(error));
  if (listeners.empty()) tasks.spawn(show_gauges());
  listeners.push_back(
      {.acceptor = std::move(acceptor), .spec = std::move(spec), .is_public = is_public});
  if (is_open) open(listeners.back());
  return bound;
}

void IngressService::State::open(Listener& listener) {
  if (!listener.acceptor.is_open()) return;  // it stopped listening before it began
  boost::system::error_code error;
  listener.acceptor.listen(kBacklog, error);
  if (!error) return tasks.spawn(accept(listener));
  log::error("clients cannot come", {{"listener", listener.kind()}, {"why", error.message()}});
}

asio::awaitable<void> IngressService::State::accept(Listener& listener) {
  while (listener.acceptor.is_open()) {
    tcp::endpoint peer;
    auto [error, socket] =
        co_await listener.acceptor.async_accept(peer, asio::as_tuple(asio::use_awaitable));
    if (!error) {
      take(listener, std::move(socket), peer);
      continue;
    }
    if (error == asio::error::connection_aborted) continue;
    if (error == asio::error::operation_aborted || !listener.acceptor.is_open()) co_return;
    // No descriptors or memory: what waits in the backlog is taken when there are again.
    shared.metrics->turned_away.with({{"limit", "descriptors"}}).add();
    const bool waited = co_await net::pause(kAcceptPause);
    if (!waited) co_return;
  }
}

asio::awaitable<void> IngressService::State::show_gauges() {
  for (bool waited = true; waited; waited = co_await net::pause(kGaugePeriod)) {
    shared.metrics->connections.set(static_cast<double>(open()));
    shared.metrics->waiting.set(static_cast<double>(waiting()));
  }
}

void IngressService::State::take(Listener& listener, tcp::socket socket,
                                 const tcp::endpoint& peer) {
  if (stopping) return;
  const std::string address = net::counted_address(peer.address());
  const net::ConnectionSlot::Limits& limits = is_late ? late_limits : shared.limits;
  const char* limit = limits->why_not(address, listener.waits());
  if (limit == nullptr && listener.is_public && shared.tls == nullptr) limit = "no_certificate";
  if (limit != nullptr) {
    shared.metrics->turned_away.with({{"limit", limit}}).add();
    return;  // closes it
  }
  shared.metrics->taken.with({{"listener", listener.kind()}}).add();
  prepare(socket);
  Client client{.socket = net::StreamSocket(std::move(socket)),
                .source = net::to_text(peer),
                .slot = net::ConnectionSlot(limits, address, listener.waits()),
                .late = is_late};
  if (listener.is_public) return tasks.spawn(serve_public(shared, std::move(client)));
  const auto serve = listener.spec.kind == ListenerSpec::Kind::Tcp ? serve_tcp : serve_sni;
  tasks.spawn(serve(shared, std::move(client), listener.spec));
}

// Whoever is in the backlog believes to be connected.
void IngressService::State::drain(Listener& listener) {
  boost::system::error_code error;
  while (listener.acceptor.is_open() && !error) {
    tcp::endpoint peer;
    tcp::socket socket(shared.parts.loop);
    listener.acceptor.accept(socket, peer, error);
    if (!error) take(listener, std::move(socket), peer);
    if (error == asio::error::connection_aborted) error = {};
  }
  // A successor on the same port is to get whoever comes from now on.
  if (!listener.is_public || shared.options.reuse_port) listener.acceptor.close(error);
}

IngressService::IngressService(Parts parts, IngressOptions options)
    : state_(std::make_unique<State>(std::move(parts), options)) {}

IngressService::~IngressService() = default;

Result<std::string> IngressService::listen(const ListenerSpec& spec) {
  return state_->start(spec.address, spec, false);
}

Result<std::string> IngressService::listen_public(const std::string& address) {
  return state_->start(address, {}, true);
}

void IngressService::open() {
  if (std::exchange(state_->is_open, true)) return;
  for (Listener& listener : state_->listeners) state_->open(listener);
}

Status IngressService::set_identity(const std::string& certificate_chain_pem,
                                    const std::string& private_key_pem) {
  TRY(state_->shared.tls, net::TlsContext::make(certificate_chain_pem, private_key_pem));
  return absl::OkStatus();
}

Status IngressService::set_trust(const std::string& cluster, const std::string& ca_pem) {
  TRY_OK(state_->shared.trust.set(cluster, ca_pem));
  state_->shared.cluster = cluster;
  return absl::OkStatus();
}

void IngressService::stop_listening() {
  for (Listener& listener : state_->listeners) state_->drain(listener);
  state_->is_late = true;
}

asio::awaitable<void> IngressService::stop() {
  state_->stopping = true;
  for (Listener& listener : state_->listeners) {
    boost::system::error_code ignored;  // closed either way
    listener.acceptor.close(ignored);
  }
  co_await state_->tasks.join();
}

size_t IngressService::connection_count() const {
  return state_->open();
}

size_t IngressService::waiting_count() const {
  return state_->shared.limits->waiting();
}

}  // namespace holdfast::ingress
