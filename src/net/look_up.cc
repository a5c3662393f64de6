#include "net/look_up.h"

#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <memory>
#include <utility>

#include "net/http_address.h"

namespace holdfast::net {
namespace {

using asio::ip::tcp;

constexpr auto kAsValue = asio::as_tuple(asio::use_awaitable);
constexpr size_t kLongestHost = 253;
constexpr size_t kMaxEndpoints = 8;  // of one name

// The first of the first one's family, the first of the other, the second of the first, ...
std::vector<StreamEndpoint> in_turns(const std::vector<StreamEndpoint>& found) {
  std::vector<StreamEndpoint> families[2];
  for (const StreamEndpoint& endpoint : found) {
    const bool first = endpoint.protocol() == found.front().protocol();
    families[first ? 0 : 1].push_back(endpoint);
  }
  std::vector<StreamEndpoint> ordered;
  for (size_t at = 0; ordered.size() < std::min(found.size(), kMaxEndpoints); ++at) {
    const std::vector<StreamEndpoint>& family = families[at % 2];
    if (at / 2 < family.size()) ordered.push_back(family[at / 2]);
  }
  return ordered;
}

// The lookup runs on a thread of Asio's that nothing can interrupt, so it is not waited for beyond
// the deadline: it keeps what it writes to, and what it finds then is dropped.
class Lookup {
 public:
  Lookup(const asio::any_io_executor& executor, const HostPort& parts)
      : shared_(std::make_shared<Shared>(executor)) {
    shared_->resolver.async_resolve(parts.host, parts.port,
                                    [shared = shared_](const boost::system::error_code& error,
                                                       const tcp::resolver::results_type& results) {
                                      shared->error = error;
                                      for (const auto& entry : results)
                                        shared->found.emplace_back(entry.endpoint());
                                      shared->done.cancel();
                                      shared->finished = true;
                                    });
  }

  asio::awaitable<Result<std::vector<StreamEndpoint>>> wait(Duration timeout) {
    if (!shared_->finished) {
      shared_->done.expires_after(timeout);
      co_await shared_->done.async_wait(kAsValue);
    }
    if (!shared_->finished) co_return absl::UnavailableError("its name was not found in time");
    if (shared_->error) co_return absl::UnavailableError(shared_->error.message());
    co_return in_turns(shared_->found);
  }

 private:
  struct Shared {
    explicit Shared(const asio::any_io_executor& executor) : resolver(executor), done(executor) {}
    tcp::resolver resolver;
    asio::steady_timer done;
    bool finished = false;
    boost::system::error_code error;
    std::vector<StreamEndpoint> found;
  };
  std::shared_ptr<Shared> shared_;  // tidy: shared, the lookup may end after its owner
};

}  // namespace

Result<HostPort> split_host_port(std::string_view address) {
  const size_t colon = address.rfind(':');
  HostPort parts;
  if (colon != std::string_view::npos) {
    parts = {std::string(address.substr(0, colon)), std::string(address.substr(colon + 1))};
  }
  const bool bracketed = parts.host.starts_with('[') && parts.host.ends_with(']');
  if (bracketed) parts.host = parts.host.substr(1, parts.host.size() - 2);
  const bool digits = !parts.port.empty() && parts.port.size() <= 5 &&
                      parts.port.find_first_not_of("0123456789") == std::string::npos;
  const bool host_is_one = !parts.host.empty() && parts.host.size() <= kLongestHost &&
                           (bracketed || !parts.host.contains(':'));
  if (digits && host_is_one) return parts;
  return absl::InvalidArgumentError(
      fmt::format("{} is no address to dial; use HOST:PORT or unix:PATH", address));
}

asio::awaitable<Result<std::vector<StreamEndpoint>>> look_up(std::string address,
                                                             Duration timeout) {
  if (Result<ListenAddress> known = parse_listen_address(address); known.ok()) {
    co_return std::vector<StreamEndpoint>{known->endpoint};
  }
  CO_TRY(const HostPort parts, split_host_port(address));
  Lookup lookup(co_await asio::this_coro::executor, parts);
  co_return co_await lookup.wait(timeout);
}

}  // namespace holdfast::net
