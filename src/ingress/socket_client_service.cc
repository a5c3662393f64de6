#include "ingress/socket_client_service.h"

#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <array>

#include "base/bytes.h"
#include "base/log.h"
#include "base/reason.h"
#include "ingress/client_end_service.h"
#include "ingress/client_hello.h"
#include "ingress/refusal.h"
#include "net/within.h"

namespace holdfast::ingress {
namespace {

struct Flow {
  std::string_view listener;  // for counters
  ServedPort served;
  std::string early{};
};

void refuse(IngressShared& shared, std::string_view listener, const Client& client,
            const Status& why) {
  const Reason reason = split_reason(why);
  shared.metrics->refused(listener, reason.code);
  log::debug("client refused", {{"listener", std::string(listener)},
                                {"client", client.source},
                                {"code", std::string(reason.code)},
                                {"reason", std::string(reason.message)}});
}

// The port that is meant, as far as this proxy knows the service; whether there is one is the
// dialer's to say.
Result<v1::ServicePort> port_of(const IngressShared& shared, const ServedPort& served) {
  const Result<v1::Resource> service = shared.parts.lookups.service(served.service);
  if (!service.ok()) return v1::ServicePort();
  return find_port(service->service(), served.port);
}

// Speaks for a service of HTTP that cannot.
asio::awaitable<void> say_refusal(IngressShared& shared, Client client, const Status& why) {
  const net::HttpResponse response = refusal(why, Asked::Page);
  const std::string text = head_of(shared, response) + response.body;
  const std::unique_ptr<net::HttpStream> stream = net::make_plain_stream(std::move(client.socket));
  const Status written =
      co_await net::within(shared.options.linger, stream->write(text),
                           absl::DeadlineExceededError("the client does not read"));
  if (written.ok()) co_await linger(shared, *stream);
}

asio::awaitable<void> carry(IngressShared& shared, Client client, Flow flow) {
  const Result<v1::ServicePort> port = port_of(shared, flow.served);
  if (!port.ok()) co_return refuse(shared, flow.listener, client, port.status());
  const int socket = client.socket.native_handle();
  tunnel::Wanted wanted{
      .service = flow.served.service, .port = flow.served.port, .client = client.source};
  // The metrics live as long as the last stream does.
  const auto on_ended = [metrics = shared.metrics, listener = flow.listener](
                            const tunnel::EndReport& report) { metrics->ended(listener, report); };
  auto mine = std::make_unique<ClientEnd>(ClientEnd::Parts{.socket = std::move(client.socket),
                                                           .early = std::move(flow.early),
                                                           .slot = std::move(client.slot),
                                                           .on_ended = on_ended});
  ClientEnd& held = *mine;
  std::unique_ptr<tunnel::StreamEnd> end = std::move(mine);
  const Result<tunnel::Reached> reached =
      co_await dial_for(shared, std::move(wanted), end, {.socket = socket});
  if (reached.ok()) {
    shared.metrics->opened.with({{"listener", std::string(flow.listener)}}).add();
    co_return;
  }
  refuse(shared, flow.listener, client, reached.status());
  const bool speaks_http = port->protocol() == v1::PROTOCOL_HTTP;
  if (end == nullptr || !speaks_http || absl::IsCancelled(reached.status())) co_return;
  client.socket = held.take_socket();
  client.slot = held.take_slot();
  co_await say_refusal(shared, std::move(client), reached.status());
}

// What the client says first, up to the end of its hello.
asio::awaitable<Result<std::string>> read_hello(net::StreamSocket& socket, ClientHello& hello) {
  std::string bytes;
  std::array<char, 4'096> buffer;
  while (hello.state == ClientHello::State::NeedMore) {
    const auto [error, count] =
        co_await socket.async_read_some(asio::buffer(buffer), asio::as_tuple(asio::use_awaitable));
    if (error) {
      co_return coded(absl::StatusCode::kCancelled, "HF2307", "the client has gone");
    }
    bytes.append(buffer.data(), count);
    hello = read_client_hello(bytes);
  }
  co_return bytes;
}

Status bad_hello(const ClientHello& hello) {
  switch (hello.state) {
    case ClientHello::State::NoName:
      return coded(absl::StatusCode::kNotFound, "HF2301", "the client names no server (SNI)");
    case ClientHello::State::TooLong:
      return coded(absl::StatusCode::kOutOfRange, "HF2303", "the client's TLS hello is too long");
    default:
      return coded(absl::StatusCode::kInvalidArgument, "HF2303", "the client does not speak TLS");
  }
}

// A fatal alert, so that the client can say what is wrong: unrecognized_name.
constexpr std::string_view kUnrecognizedName("\x15\x03\x03\x00\x02\x02\x70", 7);

asio::awaitable<void> say_unknown(IngressShared& shared, Client client) {
  const std::unique_ptr<net::HttpStream> stream = net::make_plain_stream(std::move(client.socket));
  const Status written =
      co_await net::within(shared.options.linger, stream->write(kUnrecognizedName),
                           absl::DeadlineExceededError("the client does not read"));
  if (written.ok()) co_await linger(shared, *stream);
}

}  // namespace

asio::awaitable<void> serve_tcp(IngressShared& shared, Client client, const ListenerSpec& spec) {
  co_await carry(shared, std::move(client), {.listener = "tcp", .served = spec.services.front()});
}

asio::awaitable<void> serve_sni(IngressShared& shared, Client client, const ListenerSpec& spec) {
  ClientHello hello;
  Result<std::string> early = co_await net::within(
      shared.options.head_timeout, read_hello(client.socket, hello),
      coded(absl::StatusCode::kDeadlineExceeded, "HF2308", "no TLS hello came in time"));
  if (!early.ok()) co_return refuse(shared, "sni", client, early.status());
  client.slot.settle();
  if (hello.state != ClientHello::State::Named) {
    refuse(shared, "sni", client, bad_hello(hello));
    if (hello.state == ClientHello::State::NoName) co_await say_unknown(shared, std::move(client));
    co_return;
  }
  const ServedPort* served = find_served(spec, hello.name, shared.cluster);
  if (served == nullptr) {
    refuse(shared, "sni", client,
           coded(absl::StatusCode::kNotFound, "HF2301",
                 fmt::format("{} is not served here", in_quotes(hello.name))));
    co_return co_await say_unknown(shared, std::move(client));
  }
  co_await carry(shared, std::move(client),
                 {.listener = "sni", .served = *served, .early = *std::move(early)});
}

}  // namespace holdfast::ingress
