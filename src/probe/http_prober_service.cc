#include "probe/http_prober_service.h"

#include <array>

#include "probe/http1_answer.h"
#include "probe/http_check.h"
#include "probe/http_request.h"

namespace holdfast::probe {
namespace {

using Next = HttpCheck::Next;

constexpr size_t kReadBytes = 4 * 1024;

// Reads until the head is there, or until the whole answer is.
asio::awaitable<Status> read_http1(Connection& connection, Http1Answer& answer, bool whole) {
  std::array<char, kReadBytes> some;
  while (!(whole ? answer.done() : answer.head_done())) {
    CO_TRY(const size_t count, co_await connection.read(some));
    answer.put({some.data(), count});
    if (count == 0) answer.end();
    if (answer.bad() && count == 0) co_return not_the_protocol("the connection was closed");
    if (answer.bad()) co_return not_the_protocol("what came is not HTTP");
  }
  co_return absl::OkStatus();
}

asio::awaitable<Next> ask_http1(Connection& connection, HttpCheck& check,
                                const std::string& request) {
  Http1Answer answer;
  Status went = co_await connection.write(request);
  if (went.ok()) went = co_await read_http1(connection, answer, false);
  if (!went.ok()) {
    check.on_failure(went);
    co_return Next::Over;
  }
  const Next next = check.on_head(answer.status(), answer.location());
  if (next != Next::ReadBody) co_return next;
  went = co_await read_http1(connection, answer, true);
  if (!went.ok()) check.on_body_cut(went);
  co_return Next::Over;
}

asio::awaitable<Status> open(Connection& connection, const Hop& hop, const ProbeWays& ways) {
  CO_TRY_OK(co_await connection.open(hop.host, hop.port, ways.source));
  if (!hop.tls) co_return absl::OkStatus();
  co_return co_await connection.secure(ways.tls, hop.host);
}

}  // namespace

asio::awaitable<Outcome> probe_http(Connection& connection, const Probe& probe, const HttpGet& http,
                                    const ProbeWays& ways) {
  HttpCheck check(probe, http, ways.address);
  Next next = Next::Follow;
  while (next == Next::Follow) {
    const Status opened = co_await open(connection, check.hop(), ways);
    if (!opened.ok()) {
      check.on_failure(opened);
      break;
    }
    const std::string request = http1_request(http, check.hop(), ways.user_agent);
    next = co_await ask_http1(connection, check, request);
  }
  co_return check.outcome();
}

}  // namespace holdfast::probe
