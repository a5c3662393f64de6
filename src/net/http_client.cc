#include "net/http_client.h"

#include <fmt/format.h>

#include <array>

#include "base/check.h"
#include "net/http_dial.h"
#include "net/within.h"

namespace holdfast::net {
namespace {

constexpr size_t kReadBytes = 16 << 10;

std::string host_of(const HttpClientOptions& options, const std::string& address) {
  if (!options.host.empty()) return options.host;
  return address.starts_with("unix:") ? "localhost" : address;
}

}  // namespace

HttpClient::HttpClient(const asio::any_io_executor& loop, HttpClientOptions options)
    : loop_(loop), options_(std::move(options)) {
  HF_CHECK(!options_.addresses.empty(), "a client has an address to dial");
}

HttpClient::~HttpClient() {
  HF_CHECK(!busy_, "a client outlives its requests");
}

void HttpClient::close() {
  if (stream_ != nullptr) stream_->close();
  stream_.reset();
}

// This server wants no more of us; the next in the list may.
void HttpClient::goodbye() {
  stats_.goodbyes += 1;
  close();
  at_ = (at_ + 1) % options_.addresses.size();
}

Status HttpClient::lost(const HttpCall& call, const Status& why) const {
  if (!absl::IsUnavailable(why)) return annotate(why, address());
  const char* outcome = may_be_repeated(call) ? "" : "; outcome unknown";
  return absl::UnavailableError(
      fmt::format("{}: {}{}", address(), std::string(why.message()), outcome));
}

asio::awaitable<Result<HttpAnswer>> HttpClient::ask(HttpCall call) {
  HF_CHECK(!busy_, "a client carries one request at a time");
  busy_ = true;
  Status late = absl::DeadlineExceededError(
      fmt::format("no answer from {} within {}", address(), to_short_string(options_.timeout)));
  Result<HttpAnswer> answer = co_await within(options_.timeout, exchange(call), std::move(late));
  busy_ = false;
  // Half a request or half an answer may be on it.
  if (!answer.ok()) close();
  if (absl::IsResourceExhausted(answer.status())) stats_.too_large += 1;
  co_return answer;
}

asio::awaitable<Result<HttpAnswer>> HttpClient::exchange(const HttpCall& call) {
  // What has come since the last answer can only be the end, or nonsense.
  if (stream_ != nullptr && !stream_->is_quiet()) close();
  const bool reused = stream_ != nullptr;
  if (!reused) CO_TRY_OK(co_await connect());
  Result<HttpAnswer> answer = co_await send_and_read(call);
  const bool dead = reused && absl::IsUnavailable(answer.status()) && !answering_;
  const bool unwanted = co_await is_cancelled();
  if (!dead || unwanted || !may_be_repeated(call)) co_return answer;
  close();
  stats_.repeated += 1;
  CO_TRY_OK(co_await connect());
  co_return co_await send_and_read(call);
}

asio::awaitable<Status> HttpClient::connect() {
  Status last;
  for (size_t tried = 0; tried < options_.addresses.size(); ++tried) {
    const bool unwanted = co_await is_cancelled();
    if (unwanted) co_return absl::CancelledError("no longer wanted");
    Result<std::unique_ptr<HttpStream>> stream = co_await dial(
        {.address = address(), .tls = options_.tls, .timeout = options_.connect_timeout});
    if (stream.ok()) {
      stream_ = *std::move(stream);
      stats_.dialled += 1;
      co_return absl::OkStatus();
    }
    stats_.failed_dials += 1;
    last = stream.status();
    at_ = (at_ + 1) % options_.addresses.size();
  }
  co_return last;
}

asio::awaitable<Result<HttpAnswer>> HttpClient::send_and_read(const HttpCall& call) {
  answering_ = false;
  CO_TRY(const std::string bytes, format_call(call, host_of(options_, address())));
  const Status written = co_await stream_->write(bytes);
  // A server may answer and close before it has read it all, so what it says is read even then.
  Result<HttpAnswer> answer = co_await read_answer(call);
  if (!answer.ok()) co_return lost(call, written.ok() || answering_ ? answer.status() : written);
  if (stream_ != nullptr && !written.ok()) goodbye();
  co_return answer;
}

asio::awaitable<Result<HttpAnswer>> HttpClient::read_answer(const HttpCall& call) {
  HttpAnswerParser parser(options_.limits, call.method == "HEAD");
  std::string pending;
  while (!parser.done()) {
    const size_t before = pending.size();
    pending.resize(before + kReadBytes);
    const Result<size_t> count = co_await stream_->read_some(std::span(pending).subspan(before));
    pending.resize(before + count.value_or(0));
    if (!count.ok()) co_return count.status();
    if (*count == 0 && !answering_) {
      co_return absl::UnavailableError("the server closed the connection and did not answer");
    }
    answering_ = true;
    if (*count == 0) CO_TRY_OK(parser.end());
    CO_TRY(const size_t taken, parser.put(pending));
    pending.erase(0, taken);
  }
  // What follows an answer unasked belongs to nothing we sent.
  if (!parser.keep_alive()) {
    goodbye();
  } else if (!pending.empty()) {
    close();
  }
  co_return parser.take();
}

}  // namespace holdfast::net
