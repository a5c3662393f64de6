// The HTTP side of the injector: takes the API server's reviews over TLS, and says how it is.
//
//   https  POST /inject?timeout=2s ─► content type, size, room, time ─► review() on a worker
//          GET /healthz, /readyz
//   http   GET /healthz, /readyz, /metrics, if an address for it is given
//
// The time that the API server grants is counted from the first byte of its request, and the answer
// comes before it is over: 504 if the review is not done by then.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "inject/review.h"
#include "metrics/metrics.h"
#include "net/http_server.h"
#include "net/task_group.h"

namespace holdfast::inject {

namespace asio = boost::asio;

// As much as the API server's own libraries take.
inline constexpr size_t kMaxReviewBytes = size_t{7} << 20;

struct WebhookOptions {
  std::string listen = "[::]:9443";
  std::string health_listen{};  // without TLS; empty: none
  ReviewOptions review{};
  size_t max_connections = 1'024;
  size_t max_reviews = 64;  // under way and waiting; 503 beyond
  // Of requests that are read, and once more of reviews under way: 503 beyond.
  size_t max_buffered_bytes = size_t{32} << 20;
  size_t workers = 2;
  Duration timeout = std::chrono::seconds(10);      // of a request that names none
  Duration max_timeout = std::chrono::seconds(30);  // the most an API server grants
};

class WebhookServer {
 public:
  // All outlive it.
  struct Parts {
    const Clock& clock;
    metrics::Registry& registry;
  };
  WebhookServer(const asio::any_io_executor& loop, Parts parts, Translate translate,
                WebhookOptions options);
  // Requires: stop() has completed, or it never listened.
  ~WebhookServer();

  // The addresses it got, that of HTTPS first.
  Result<std::vector<std::string>> listen();
  // For connections from now on. kInvalidArgument, and no change, if the two do not fit.
  Status set_tls(const std::string& certificate_chain_pem, const std::string& private_key_pem);
  // What keeps it from working, shown by /readyz with 503; OK if nothing does.
  void set_trouble(Status trouble) { trouble_ = std::move(trouble); }
  // What an operator should see although it works.
  void set_warning(Status warning) { warning_ = std::move(warning); }
  asio::awaitable<void> stop();

  size_t running() const { return running_; }

 private:
  struct Counters {
    explicit Counters(metrics::Registry& registry);

    metrics::Family<metrics::Counter>& reviews;  // by verdict
    metrics::Family<metrics::Counter>& refused;  // by reason
    metrics::Counter warnings;
    metrics::Gauge running;
    metrics::Histogram seconds;
  };
  struct Job;
  // The review may end after whoever waits for it has given up.
  using SharedJob = std::shared_ptr<Job>;  // tidy: shared, by the handler and the worker

  asio::awaitable<net::HttpResponse> on_https(const net::HttpRequest& request);
  asio::awaitable<net::HttpResponse> on_http(const net::HttpRequest& request);
  net::HttpResponse health(const std::string& path, const net::HttpRequest& request);
  asio::awaitable<net::HttpResponse> inject(const net::HttpRequest& request);
  bool has_room(size_t bytes) const;
  asio::awaitable<void> run(SharedJob job);
  net::HttpResponse refuse(int status, const char* reason, const Status& why);
  net::HttpResponse finish(const Reviewed& reviewed, Time began);

  asio::any_io_executor loop_;
  const Clock& clock_;
  metrics::Registry& registry_;
  const Translate translate_;
  const WebhookOptions options_;
  Counters counters_;
  Status trouble_;
  Status warning_;
  size_t running_ = 0;
  size_t running_bytes_ = 0;
  net::HttpServer https_;
  net::HttpServer http_;
  asio::thread_pool workers_;
  net::TaskGroup tasks_;
};

}  // namespace holdfast::inject
