// The way to a service: one of several proxies over TLS, and CONNECT.
#pragma once

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "cli/proxy_list.h"
#include "net/http_stream.h"
#include "net/tls_context.h"

namespace holdfast::cli {

namespace asio = boost::asio;

// What is wanted of a proxy.
struct WantedService {
  std::string service{};
  std::string port{};  // name or number; empty: the first
};

class ProxyRoute {
 public:
  struct Options {
    ProxyList proxies{};
    // Asked for each connection: a login may have changed who we are.
    std::function<Result<std::shared_ptr<const net::TlsContext>>()> tls{};
    Duration dial_timeout = std::chrono::seconds(3);     // for each address of a proxy
    Duration answer_timeout = std::chrono::seconds(12);  // above a proxy's own
  };
  explicit ProxyRoute(Options options) : options_(std::move(options)) {}

  // An open connection to the service, by the first proxy that gets there. Another is tried if one
  // is not there or cannot reach the service; what a proxy refuses is refused. kUnavailable HF2311:
  // none could be reached; else with the code that the last proxy said.
  asio::awaitable<Result<std::unique_ptr<net::HttpStream>>> open(WantedService wanted);
  // The one that worked last first.
  const ProxyList& proxies() const { return options_.proxies; }

 private:
  Options options_;
};

// What a proxy said instead of 200: its code and message, as the status it stands for.
Status refusal_of(int http_status, std::string_view body);

}  // namespace holdfast::cli
