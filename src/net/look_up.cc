#include "net/look_up.h"

#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "net/as_value.h"
#include "net/http_address.h"

namespace holdfast::net {
namespace {

using asio::ip::tcp;

constexpr size_t kLongestHost = 253;
constexpr size_t kMaxEndpoints = 8;  // of one name
constexpr size_t kMaxQueries = 256;  // names at once; they take turns

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

// A name that is looked up, for everybody who waits for it. It runs on the one thread that Asio has
// for it, which nothing can interrupt, so it is not waited for beyond a deadline: it keeps what it
// writes to, and if nobody waits any more its turn is passed over.
struct Query {
  explicit Query(const asio::any_io_executor& executor) : resolver(executor) {}

  void finish(const boost::system::error_code& why, const tcp::resolver::results_type& results) {
    error = why;
    for (const auto& entry : results) found.emplace_back(entry.endpoint());
    finished = true;
    for (asio::steady_timer* waiter : waiters) waiter->cancel();
  }

  tcp::resolver resolver;
  std::set<asio::steady_timer*> waiters{};
  bool finished = false;
  boost::system::error_code error{};
  std::vector<StreamEndpoint> found{};
};
using SharedQuery = std::shared_ptr<Query>;  // tidy: shared, the look-up may end after who waits

// Those of one loop.
class Queries final : public asio::execution_context::service {
 public:
  using key_type = Queries;
  static inline const asio::execution_context::id id{};  // Asio's way to find a service of a loop
  explicit Queries(asio::execution_context& loop) : service(loop) {}

  // The one that runs already or a new one; null if too many run.
  SharedQuery start(const asio::any_io_executor& executor, const HostPort& parts) {
    SharedQuery& query = running_[key(parts)];
    if (query != nullptr && !query->finished) return query;
    std::erase_if(running_, [&](const auto& one) { return &one.second != &query && is_over(one); });
    if (running_.size() > kMaxQueries) {
      running_.erase(key(parts));
      return nullptr;
    }
    query = std::make_shared<Query>(executor);
    query->resolver.async_resolve(
        parts.host, parts.port,
        [query](const auto& error, const auto& results) { query->finish(error, results); });
    return query;
  }
  void leave(const HostPort& parts, const SharedQuery& query) {
    if (!query->waiters.empty()) return;
    query->resolver.cancel();
    const auto found = running_.find(key(parts));
    if (found != running_.end() && found->second == query) running_.erase(found);
  }

 private:
  static std::string key(const HostPort& parts) { return parts.host + ":" + parts.port; }
  static bool is_over(const auto& one) { return one.second == nullptr || one.second->finished; }
  void shutdown() noexcept override { running_.clear(); }

  std::map<std::string, SharedQuery> running_;
};

// One that waits; the last to leave ends the look-up.
class Waiter {
 public:
  Waiter(Queries& queries, const HostPort& parts, SharedQuery query, Duration timeout)
      : queries_(queries),
        parts_(parts),
        query_(std::move(query)),
        done_(query_->resolver.get_executor(), timeout) {
    query_->waiters.insert(&done_);
  }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;
  ~Waiter() {
    query_->waiters.erase(&done_);
    queries_.leave(parts_, query_);
  }

  asio::awaitable<Result<std::vector<StreamEndpoint>>> wait() {
    if (!query_->finished) co_await done_.async_wait(kAsValue);
    if (!query_->finished) co_return absl::UnavailableError("its name was not found in time");
    if (query_->error) co_return absl::UnavailableError(query_->error.message());
    co_return in_turns(query_->found);
  }

 private:
  Queries& queries_;
  const HostPort& parts_;
  SharedQuery query_;
  asio::steady_timer done_;
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
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  auto& queries = asio::use_service<Queries>(asio::query(executor, asio::execution::context));
  SharedQuery query = queries.start(executor, parts);
  if (query == nullptr) {
    co_return absl::ResourceExhaustedError("too many names are being looked up");
  }
  Waiter waiter(queries, parts, std::move(query), timeout);
  co_return co_await waiter.wait();
}

}  // namespace holdfast::net
