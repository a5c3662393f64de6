#include "probe/http_prober_service.h"

#include <array>
#include <optional>

#include "probe/h2_service.h"
#include "probe/http1_answer.h"
#include "probe/http_check.h"
#include "probe/http_request.h"
#include "probe/probe_rules.h"

namespace holdfast::probe {
namespace {

using Next = HttpCheck::Next;

constexpr size_t kHttpReadBytes = 4 * 1024;

asio::awaitable<Status> read_head(Connection& connection, Http1Answer& answer) {
  std::array<char, kHttpReadBytes> some;
  while (!answer.head_done()) {
    CO_TRY(const size_t count, co_await connection.read(some));
    answer.put({some.data(), count});
    if (count == 0) co_return not_the_protocol("the connection was closed without an answer");
    if (answer.bad() && !answer.head_done()) co_return not_the_protocol("no HTTP answer");
  }
  co_return absl::OkStatus();
}

asio::awaitable<Status> read_body(Connection& connection, Http1Answer& answer) {
  std::array<char, kHttpReadBytes> some;
  while (!answer.done()) {
    if (answer.bad()) co_return not_the_protocol("its chunks are wrong");
    CO_TRY(const size_t count, co_await connection.read(some));
    answer.put({some.data(), count});
    if (count == 0) answer.end();
    if (count == 0 && answer.bad()) co_return not_the_protocol("the connection was closed");
  }
  co_return absl::OkStatus();
}

asio::awaitable<Next> ask_http1(Connection& connection, HttpCheck& check, std::string request) {
  Http1Answer answer;
  Status went = co_await connection.write(request);
  if (went.ok()) went = co_await read_head(connection, answer);
  if (!went.ok()) {
    check.on_failure(went);
    co_return Next::Over;
  }
  const Next next = check.on_head(answer.status(), answer.location());
  if (next != Next::ReadBody) co_return next;
  if (!answer.done()) went = co_await read_body(connection, answer);
  if (!went.ok()) check.on_body_cut(went);
  co_return Next::Over;
}

asio::awaitable<Next> ask_http2(Connection& connection, HttpCheck& check, H2Request request) {
  H2Exchange exchange(std::move(request));
  const H2Answer& answer = exchange.answer();
  Status went = co_await talk_h2(connection, exchange, [&] { return answer.status != 0; });
  if (answer.status == 0) {
    check.on_failure(went);
    co_return Next::Over;
  }
  const Next next = check.on_head(answer.status, answer.location);
  if (next != Next::ReadBody) co_return next;
  const auto enough = [&] { return answer.ended || answer.body_bytes >= kEnoughBodyBytes; };
  if (went.ok()) went = co_await talk_h2(connection, exchange, enough);
  if (!enough()) check.on_body_cut(went);
  co_return Next::Over;
}

asio::awaitable<Status> open_secured(Connection& connection, const Hop& hop,
                                     const ProbeWays& ways) {
  CO_TRY_OK(co_await connection.open({hop.host, hop.port, ways.source}));
  co_return co_await connection.secure(ways.tls, hop.host, Offer::Http);
}

asio::awaitable<Status> open(Connection& connection, const Hop& hop, const ProbeWays& ways) {
  return hop.tls ? open_secured(connection, hop, ways)
                 : connection.open({hop.host, hop.port, ways.source});
}

// Most are asked in clear at an address, which needs no waiting.
std::optional<Status> open_now(Connection& connection, const Hop& hop, const ProbeWays& ways) {
  if (hop.tls) return std::nullopt;
  return connection.begin({hop.host, hop.port, ways.source});
}

asio::awaitable<Next> ask(Connection& connection, HttpCheck& check, const HttpGet& http,
                          const ProbeWays& ways) {
  const Hop& hop = check.hop();
  if (hop.tls ? connection.protocol() == "h2" : http.h2c) {
    return ask_http2(connection, check, http2_request(http, hop, ways.user_agent));
  }
  if (check.trusted()) {
    return ask_http1(connection, check, http1_request(http, hop, ways.user_agent));
  }
  HttpGet shown = http;
  std::erase_if(shown.headers,
                [](const Header& one) { return same_name(one.name, "authorization"); });
  return ask_http1(connection, check, http1_request(shown, hop, ways.user_agent));
}

}  // namespace

asio::awaitable<Outcome> probe_http(Connection& connection, const Probe& probe, const HttpGet& http,
                                    const ProbeWays& ways) {
  HttpCheck check(probe, http, ways.address);
  Next next = Next::Follow;
  while (next == Next::Follow) {
    std::optional<Status> opened = open_now(connection, check.hop(), ways);
    if (!opened) opened = co_await open(connection, check.hop(), ways);
    if (opened->ok()) {
      next = co_await ask(connection, check, http, ways);
    } else {
      next = check.on_failure(*opened);
    }
  }
  co_return check.outcome();
}

}  // namespace holdfast::probe
