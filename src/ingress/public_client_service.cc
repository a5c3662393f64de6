#include "ingress/public_client_service.h"

#include <fmt/format.h>

#include <array>

#include "base/log.h"
#include "base/reason.h"
#include "ingress/connect_request.h"
#include "ingress/refusal.h"
#include "net/early_stream.h"
#include "net/http_parser.h"
#include "net/tls_stream.h"
#include "net/within.h"
#include "tunnel/tls_end_service.h"

namespace holdfast::ingress {
namespace {

using identity::Identity;

constexpr std::string_view kListener = "public";
constexpr std::string_view kEstablished = "HTTP/1.1 200 Connection established\r\n\r\n";

class PublicClient {
 public:
  PublicClient(IngressShared& shared, Client client)
      : shared_(shared),
        slot_(std::move(client.slot)),
        source_(std::move(client.source)),
        late_(client.late),
        socket_(client.socket.native_handle()),
        stream_(net::make_tls_stream(std::move(client.socket), shared.tls)) {}

  asio::awaitable<void> run() {
    const Status read = co_await net::within(
        shared_.options.head_timeout, read_head(),
        coded(absl::StatusCode::kDeadlineExceeded, "HF2308", "no request came in time"));
    if (!read.ok()) co_return co_await end_with(read, Asked::Connect);
    slot_.settle();
    const Result<Identity> caller = identify();
    if (head_.state == ConnectRequest::State::Connect) {
      const Status carried = caller.ok() ? co_await connect(*caller) : caller.status();
      if (!carried.ok()) co_await end_with(carried, Asked::Connect);
    } else {
      co_await answer_page(caller);
    }
  }

 private:
  asio::awaitable<Status> read_head();
  asio::awaitable<Status> read_more();
  asio::awaitable<Status> read_body(net::HttpParser& parser);
  Result<Identity> identify();
  asio::awaitable<Status> connect(const Identity& caller);
  asio::awaitable<void> answer_page(const Result<Identity>& caller);
  asio::awaitable<void> end_with(const Status& why, Asked asked);
  asio::awaitable<void> respond(const net::HttpResponse& response);
  void count(const Status& why);

  IngressShared& shared_;
  net::ConnectionSlot slot_;
  const std::string source_;
  const bool late_;
  const int socket_;
  std::unique_ptr<net::HttpStream> stream_;
  bool secure_ = false;  // there is a client that can be told something
  std::string pending_;  // read, not used yet
  ConnectRequest head_;
  net::HttpResponse problem_{};  // of a request that is not HTTP
};

asio::awaitable<Status> PublicClient::read_more() {
  std::array<char, 4'096> buffer;
  CO_TRY(const size_t count, co_await stream_->read_some(buffer));
  if (count == 0) co_return coded(absl::StatusCode::kCancelled, "HF2307", "the client has gone");
  pending_.append(buffer.data(), count);
  co_return absl::OkStatus();
}

asio::awaitable<Status> PublicClient::read_head() {
  const Status shaken = co_await stream_->handshake();
  if (!shaken.ok()) {
    co_return coded(absl::StatusCode::kCancelled, "HF2309",
                    fmt::format("no TLS: {}", std::string(shaken.message())));
  }
  secure_ = true;
  while (head_.state == ConnectRequest::State::NeedMore) {
    const Status more = co_await read_more();
    if (!more.ok()) {
      co_return coded(absl::StatusCode::kCancelled, "HF2307", "the client has gone");
    }
    head_ = read_connect_request(pending_);
  }
  if (head_.state == ConnectRequest::State::Bad) {
    co_return coded(absl::StatusCode::kInvalidArgument, "HF2303", head_.problem);
  }
  if (head_.state == ConnectRequest::State::TooLong) {
    co_return coded(absl::StatusCode::kOutOfRange, "HF2303", "the request's head is too long");
  }
  co_return absl::OkStatus();
}

Result<Identity> PublicClient::identify() {
  const std::string chain = stream_->chain_pem();
  if (chain.empty()) return Identity();
  TRY(identity::Peer peer, shared_.trust.verify(chain, shared_.parts.clock.wall_now()));
  return current_caller(std::move(peer.identity), shared_.parts.lookups);
}

asio::awaitable<Status> PublicClient::connect(const Identity& caller) {
  if (late_) {
    co_return coded(absl::StatusCode::kUnavailable, "HF2315",
                    "the proxy drains and takes no new connections");
  }
  const Lookups& lookups = shared_.parts.lookups;
  // A service may have a name that ends like the cluster's.
  const bool whole = lookups.service(head_.host).ok();
  const std::string name = whole ? head_.host : service_of_host(head_.host, shared_.cluster);
  CO_TRY(const v1::Service service, check_connect(caller, name, lookups));
  CO_TRY_OK(find_port(service, head_.port).status());
  tunnel::Wanted wanted{
      .service = name, .port = head_.port, .client = source_, .user = identity::to_string(caller)};
  net::HttpStream& client = *stream_;
  const auto on_ended = [metrics = shared_.metrics](const tunnel::EndReport& report) {
    metrics->ended(kListener, report);
  };
  tunnel::StreamPump pump(shared_.parts.loop,
                          net::with_early(std::move(stream_), pending_.substr(head_.head_bytes)),
                          on_ended);
  std::unique_ptr<tunnel::StreamEnd> end = pump.take_end();
  const Result<tunnel::Reached> reached =
      co_await dial_for(shared_, std::move(wanted), end, {.socket = socket_, .tls = true});
  if (!reached.ok()) {
    count(reached.status());
    const net::HttpResponse response = refusal(reached.status(), Asked::Connect);
    const std::string text = head_of(shared_, response) + response.body;
    const Status told = co_await net::within(shared_.options.response_timeout, client.write(text),
                                             absl::DeadlineExceededError("it does not read"));
    if (told.ok()) co_await linger(shared_, client);
    co_return absl::OkStatus();
  }
  shared_.metrics->opened.with({{"listener", std::string(kListener)}}).add();
  const Status told =
      co_await net::within(shared_.options.response_timeout, client.write(kEstablished),
                           absl::DeadlineExceededError("it does not read"));
  if (told.ok()) co_await pump.run();
  co_return absl::OkStatus();
}

asio::awaitable<Status> PublicClient::read_body(net::HttpParser& parser) {
  bool continued = false;
  for (;;) {
    const std::expected<size_t, net::HttpResponse> taken = parser.put(pending_);
    if (!taken) {
      problem_ = taken.error();
      co_return absl::InvalidArgumentError("");
    }
    pending_.erase(0, *taken);
    if (parser.done()) co_return absl::OkStatus();
    if (parser.expects_continue() && !continued) {
      continued = true;
      CO_TRY_OK(co_await stream_->write("HTTP/1.1 100 Continue\r\n\r\n"));
    }
    CO_TRY_OK(co_await read_more());
  }
}

asio::awaitable<void> PublicClient::answer_page(const Result<Identity>& caller) {
  if (!caller.ok()) co_return co_await end_with(caller.status(), Asked::Page);
  net::HttpParser parser(
      {.max_header_bytes = kMaxHeadBytes, .max_body_bytes = shared_.options.max_body_bytes});
  const Status read = co_await net::within(
      shared_.options.head_timeout, read_body(parser),
      coded(absl::StatusCode::kDeadlineExceeded, "HF2308", "no request came in time"));
  if (absl::IsInvalidArgument(read)) {
    shared_.metrics->refused(kListener, "HF2303");
    co_return co_await respond(problem_);
  }
  if (!read.ok()) co_return co_await end_with(read, Asked::Page);
  net::HttpRequest request;
  request.peer = {.source = source_};
  const Status taken = parser.take(request);
  if (!taken.ok()) co_return co_await respond(net::http_error(400, "HF6030", "not a path"));
  if (!shared_.parts.handler) {
    co_return co_await respond(net::http_error(404, "HF6034", "there is nothing at this path"));
  }
  const net::HttpResponse response =
      co_await shared_.parts.handler(PublicCall{.caller = *caller, .request = request});
  co_await respond(response);
}

void PublicClient::count(const Status& why) {
  const Reason reason = split_reason(why);
  shared_.metrics->refused(kListener, reason.code);
  log::debug("client refused", {{"listener", std::string(kListener)},
                                {"client", source_},
                                {"code", std::string(reason.code)},
                                {"reason", std::string(reason.message)}});
}

asio::awaitable<void> PublicClient::end_with(const Status& why, Asked asked) {
  count(why);
  if (!secure_ || absl::IsCancelled(why)) co_return stream_->close();
  co_await respond(refusal(why, asked));
}

asio::awaitable<void> PublicClient::respond(const net::HttpResponse& response) {
  const std::string text = head_of(shared_, response) + response.body;
  const Status written =
      co_await net::within(shared_.options.response_timeout, stream_->write(text),
                           absl::DeadlineExceededError("it does not read"));
  if (written.ok()) co_await linger(shared_, *stream_);
}

}  // namespace

asio::awaitable<void> serve_public(IngressShared& shared, Client client) {
  PublicClient public_client(shared, std::move(client));
  co_await public_client.run();
}

}  // namespace holdfast::ingress
