// net::HttpClient on a loop of its own, as blocking calls.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <string>
#include <utility>

#include "net/http_client.h"

namespace holdfast::test {

class Asking {
 public:
  explicit Asking(net::HttpClientOptions options)
      : client_(loop_.get_executor(), std::move(options)) {}

  Result<net::HttpAnswer> ask(net::HttpCall call) {
    Result<net::HttpAnswer> answer = absl::UnknownError("did not end");
    boost::asio::co_spawn(loop_, keep(std::move(call), answer), boost::asio::detached);
    loop_.restart();
    loop_.run();
    return answer;
  }
  Result<net::HttpAnswer> get(std::string target) { return ask({.target = std::move(target)}); }
  // The body of an answer with status 200, else what went wrong.
  std::string text(std::string target) {
    const Result<net::HttpAnswer> answer = get(std::move(target));
    if (!answer.ok()) return answer.status().ToString();
    return answer->status == 200 ? answer->body : std::to_string(answer->status);
  }

  net::HttpClient& client() { return client_; }
  const net::HttpClientStats& stats() const { return client_.stats(); }

 private:
  boost::asio::awaitable<void> keep(net::HttpCall call, Result<net::HttpAnswer>& answer) {
    answer = co_await client_.ask(std::move(call));
  }

  boost::asio::io_context loop_{1};
  net::HttpClient client_;
};

}  // namespace holdfast::test
