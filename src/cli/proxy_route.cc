#include "cli/proxy_route.h"

#include <fmt/format.h>

#include <array>

#include "base/reason.h"
#include "net/early_stream.h"
#include "net/http_dial.h"
#include "net/http_parser.h"
#include "net/within.h"
#include "resource/node.h"

namespace holdfast::cli {
namespace {

using Stream = std::unique_ptr<net::HttpStream>;

constexpr size_t kMaxAnswerBytes = 64 << 10;
constexpr std::string_view kHeadEnd = "\r\n\r\n";

asio::awaitable<Status> read_more(net::HttpStream& stream, std::string& bytes) {
  std::array<char, 4'096> buffer;
  CO_TRY(const size_t count, co_await stream.read_some(buffer));
  if (count == 0) co_return absl::UnavailableError("the proxy closed the connection");
  bytes.append(buffer.data(), count);
  if (bytes.size() > kMaxAnswerBytes) co_return absl::DataLossError("the proxy says too much");
  co_return absl::OkStatus();
}

// The body of a refusal, as far as it comes.
asio::awaitable<std::string> read_body(net::HttpStream& stream, std::string bytes) {
  net::HttpAnswerParser parser({.max_body_bytes = kMaxAnswerBytes}, false);
  for (;;) {
    const Result<size_t> taken = parser.put(bytes);
    if (!taken.ok()) co_return "";
    bytes.erase(0, *taken);
    if (parser.done()) co_return parser.take().body;
    const Status more = co_await read_more(stream, bytes);
    if (!more.ok()) co_return "";
  }
}

asio::awaitable<Result<Stream>> ask_proxy(Stream stream, WantedService wanted) {
  const std::string target =
      fmt::format("{}:{}", wanted.service, wanted.port.empty() ? "0" : wanted.port);
  const std::string request = fmt::format(
      "CONNECT {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: holdfast\r\n\r\n", target, target);
  CO_TRY_OK(co_await stream->write(request));
  std::string bytes;
  while (!bytes.contains(kHeadEnd)) CO_TRY_OK(co_await read_more(*stream, bytes));
  net::HttpAnswerParser head({}, true);
  CO_TRY(const size_t taken, head.put(bytes));
  if (!head.done()) co_return absl::DataLossError("the proxy does not answer in HTTP");
  const int status = head.take().status;
  if (status != 200) {
    const std::string body = co_await read_body(*stream, std::move(bytes));
    co_return refusal_of(status, body);
  }
  bytes.erase(0, taken);
  co_return net::with_early(std::move(stream), std::move(bytes));
}

// Whether another proxy may do better.
bool may_differ(const Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kNotFound:
      return false;
    default:
      return true;
  }
}

}  // namespace

Status refusal_of(int http_status, std::string_view body) {
  absl::StatusCode code = absl::StatusCode::kUnavailable;
  if (http_status == 400 || http_status == 431) code = absl::StatusCode::kInvalidArgument;
  if (http_status == 401 || http_status == 407) code = absl::StatusCode::kUnauthenticated;
  if (http_status == 403) code = absl::StatusCode::kPermissionDenied;
  if (http_status == 404) code = absl::StatusCode::kNotFound;
  if (http_status == 504) code = absl::StatusCode::kDeadlineExceeded;
  const auto text = [&](std::string_view key) {
    const auto document = resource::read_json(body);
    const resource::Node* error = document ? resource::find_member(*document, "error") : nullptr;
    const resource::Node* found = error ? resource::find_member(*error, key) : nullptr;
    return found != nullptr ? found->text : std::string();
  };
  const std::string said = text("message");
  const std::string message =
      said.empty() ? fmt::format("the proxy answers with status {}", http_status) : said;
  const std::string reason = text("code");
  return reason.empty() ? coded(code, "HF2313", message) : coded(code, reason, message);
}

asio::awaitable<Result<Stream>> ProxyRoute::open(WantedService wanted) {
  Status last = coded(absl::StatusCode::kUnavailable, "HF2310", "no proxy is known");
  const ProxyList tried = options_.proxies;
  CO_TRY(const std::shared_ptr<const net::TlsContext> tls, options_.tls());
  for (const std::string& address : tried) {
    const bool unwanted = co_await net::is_cancelled();
    if (unwanted) co_return absl::CancelledError("no longer wanted");
    Result<Stream> dialled =
        co_await net::dial({.address = address, .tls = tls, .timeout = options_.dial_timeout});
    if (!dialled.ok()) {
      last = coded(absl::StatusCode::kUnavailable, "HF2311",
                   fmt::format("no proxy answers: {}", std::string(dialled.status().message())));
      continue;
    }
    Result<Stream> opened = co_await net::within(
        options_.answer_timeout, ask_proxy(*std::move(dialled), wanted),
        coded(absl::StatusCode::kDeadlineExceeded, "HF2204", "no answer from the proxy in time"));
    if (opened.ok()) put_first(options_.proxies, address);
    if (opened.ok() || !may_differ(opened.status())) co_return opened;
    last = split_reason(opened.status()).code.empty()
               ? coded(absl::StatusCode::kUnavailable, "HF2311",
                       fmt::format("{}: {}", address, std::string(opened.status().message())))
               : opened.status();
  }
  co_return last;
}

}  // namespace holdfast::cli
