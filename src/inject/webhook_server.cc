#include "inject/webhook_server.h"

#include <fmt/format.h>

#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/serialize.hpp>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "base/reason.h"

namespace holdfast::inject {
namespace {

namespace json = boost::json;

constexpr size_t kMaxHealthConnections = 64;
// Kept back of the time that is granted, for the way of the answer.
constexpr Duration kMostKeptBack = std::chrono::milliseconds(500);
constexpr int kKeptBackPart = 10;
constexpr size_t kMaxDiscardedBytes = 4 * kMaxReviewBytes;
constexpr Duration kLinger = std::chrono::seconds(3);

net::HttpServerOptions https_options(const WebhookOptions& options) {
  net::HttpServerOptions http;
  http.max_connections = options.max_connections;
  http.limits.max_body_bytes = kMaxReviewBytes;
  http.max_buffered_bytes = options.max_buffered_bytes;
  http.body_timeout = options.max_timeout;
  // So that who sends too much reads 413 instead of a broken connection.
  http.max_discarded_bytes = kMaxDiscardedBytes;
  http.linger = kLinger;
  return http;
}

net::HttpServerOptions http_options() {
  net::HttpServerOptions http;
  http.max_connections = kMaxHealthConnections;
  http.limits.max_body_bytes = 0;
  return http;
}

std::string path_of(const net::HttpRequest& request) {
  const net::HttpTarget& target = request.target;
  return target.segments.size() == 1 && !target.ends_with_slash ? target.segments[0] : "";
}

net::HttpResponse not_here() {
  return net::http_error(404, "HF6034", "the injector answers /inject, /healthz and /readyz");
}

net::HttpResponse wrong_method(const char* allowed) {
  net::HttpResponse response = net::http_error(405, "HF6035", "another method is needed here");
  response.headers.emplace_back("Allow", allowed);
  return response;
}

// The value of ?timeout=, the first if there are several; the rest of a query is nothing to us.
std::string_view asked_timeout(const net::HttpTarget& target) {
  for (const auto& [name, value] : target.query) {
    if (name == "timeout") return value;
  }
  return {};
}

Duration kept_back(Duration granted) {
  return std::min(granted / kKeptBackPart, kMostKeptBack);
}

std::string problem_json(const Status& trouble, const Status& warning) {
  json::object out{{"status", trouble.ok() ? "ok" : "degraded"}};
  json::array reasons;
  for (const Status& one : {trouble, warning}) {
    if (one.ok()) continue;
    const Reason reason = split_reason(one);
    reasons.push_back(
        {{"code", json::string_view(reason.code.data(), reason.code.size())},
         {"message", json::string_view(reason.message.data(), reason.message.size())}});
  }
  if (!reasons.empty()) out["reasons"] = std::move(reasons);
  return json::serialize(out) + "\n";
}

}  // namespace

struct WebhookServer::Job {
  Job(const asio::any_io_executor& loop, std::string given) : bytes(std::move(given)), done(loop) {}

  std::string bytes;
  std::optional<Reviewed> reviewed;  // touched on the loop only
  std::atomic<bool> wanted = true;   // somebody still waits
  asio::steady_timer done;           // expires when nobody waits any longer
};

WebhookServer::Counters::Counters(metrics::Registry& registry)
    : reviews(registry.counter({.name = "holdfast_injector_reviews_total",
                                .help = "Admission reviews answered, by verdict."})),
      refused(registry.counter({.name = "holdfast_injector_refused_total",
                                .help = "Admission reviews not carried out, by reason."})),
      warnings(registry
                   .counter({.name = "holdfast_injector_warnings_total",
                             .help = "Warnings in the answers to admission reviews."})
                   .with()),
      running(registry
                  .gauge({.name = "holdfast_injector_running_reviews",
                          .help = "Admission reviews under way or waiting for a worker."})
                  .with()),
      seconds(registry
                  .histogram({.name = "holdfast_injector_review_seconds",
                              .help = "Time from a review's first byte to its answer."},
                             {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30})
                  .with()) {}

WebhookServer::WebhookServer(const asio::any_io_executor& loop, Parts parts, Translate translate,
                             WebhookOptions options)
    : loop_(loop),
      clock_(parts.clock),
      registry_(parts.registry),
      translate_(std::move(translate)),
      options_(std::move(options)),
      counters_(parts.registry),
      https_(loop, parts.clock, parts.registry, https_options(options_)),
      http_(loop, parts.clock, parts.registry, http_options()),
      workers_(options_.workers),
      tasks_(loop) {}

WebhookServer::~WebhookServer() {
  workers_.join();
}

Result<std::vector<std::string>> WebhookServer::listen() {
  std::vector<std::string> addresses;
  TRY(addresses.emplace_back(),
      https_.listen({.address = options_.listen, .tls = true},
                    [this](const net::HttpRequest& request) { return on_https(request); }));
  if (options_.health_listen.empty()) return addresses;
  TRY(addresses.emplace_back(),
      http_.listen({.address = options_.health_listen},
                   [this](const net::HttpRequest& request) { return on_http(request); }));
  return addresses;
}

Status WebhookServer::set_tls(const std::string& certificate_chain_pem,
                              const std::string& private_key_pem) {
  return https_.set_tls(certificate_chain_pem, private_key_pem);
}

asio::awaitable<void> WebhookServer::stop() {
  co_await https_.stop();
  co_await http_.stop();
  co_await tasks_.join();
}

asio::awaitable<net::HttpResponse> WebhookServer::on_https(const net::HttpRequest& request) {
  const std::string path = path_of(request);
  if (path != "inject") co_return health(path, request);
  if (request.method != "POST") co_return wrong_method("POST");
  co_return co_await inject(request);
}

asio::awaitable<net::HttpResponse> WebhookServer::on_http(const net::HttpRequest& request) {
  const std::string path = path_of(request);
  if (path != "metrics") co_return health(path, request);
  if (request.method != "GET") co_return wrong_method("GET");
  co_return net::HttpResponse{.content_type = "text/plain; version=0.0.4; charset=utf-8",
                              .body = registry_.expose()};
}

net::HttpResponse WebhookServer::health(const std::string& path, const net::HttpRequest& request) {
  const bool live = path == "healthz" || path == "livez";
  if (!live && path != "readyz") return not_here();
  if (request.method != "GET") return wrong_method("GET");
  if (live) return {.body = "{\"status\":\"ok\"}\n"};
  return {.status = trouble_.ok() ? 200 : 503, .body = problem_json(trouble_, warning_)};
}

net::HttpResponse WebhookServer::refuse(int status, const char* reason, const Status& why) {
  counters_.refused.with({{"reason", reason}}).add();
  const Reason parts = split_reason(why);
  log::warn("a review was not carried out", {{"code", parts.code}, {"why", parts.message}});
  return net::http_error(status, parts.code, parts.message);
}

net::HttpResponse WebhookServer::finish(const Reviewed& reviewed, Time began) {
  counters_.reviews.with({{"verdict", std::string(to_string(reviewed.verdict))}}).add();
  counters_.warnings.add(static_cast<double>(reviewed.warnings));
  counters_.seconds.observe(std::chrono::duration<double>(clock_.now() - began).count());
  const log::Fields fields = {{"pod", reviewed.pod},
                              {"verdict", to_string(reviewed.verdict)},
                              {"operations", reviewed.operations},
                              {"warnings", reviewed.warnings},
                              {"dry_run", reviewed.dry_run},
                              {"why", reviewed.reason}};
  const bool wrong = reviewed.verdict == Verdict::Denied || reviewed.verdict == Verdict::Malformed;
  wrong ? log::warn("review", fields) : log::info("review", fields);
  return {.body = reviewed.body};
}

bool WebhookServer::has_room(size_t bytes) const {
  return running_ < options_.max_reviews && running_bytes_ + bytes <= options_.max_buffered_bytes;
}

asio::awaitable<net::HttpResponse> WebhookServer::inject(const net::HttpRequest& request) {
  const auto type = request.headers.find("content-type");
  if (type == request.headers.end() || !is_json(type->second)) {
    co_return finish(inject::refuse("the Content-Type is not application/json"), request.began);
  }
  if (!has_room(request.body.size())) {
    co_return refuse(503, "busy",
                     coded(absl::StatusCode::kResourceExhausted, "HF7153",
                           "as many reviews as may be under way are"));
  }
  const Duration granted =
      review_timeout(asked_timeout(request.target), options_.timeout, options_.max_timeout);
  const Duration left = request.began + granted - kept_back(granted) - clock_.now();
  const Status late = coded(absl::StatusCode::kDeadlineExceeded, "HF7154",
                            "the review is not done within the time that was granted");
  if (left <= Duration::zero()) co_return refuse(504, "late", late);
  const auto job = std::make_shared<Job>(loop_, request.body);
  job->done.expires_after(left);
  running_ += 1;
  running_bytes_ += job->bytes.size();
  counters_.running.set(static_cast<double>(running_));
  tasks_.spawn(run(job));
  co_await job->done.async_wait(asio::as_tuple(asio::use_awaitable));
  job->wanted = false;
  if (!job->reviewed) co_return refuse(504, "late", late);
  co_return finish(*job->reviewed, request.began);
}

// Runs to its end also when the server stops: a worker cannot be called back.
asio::awaitable<void> WebhookServer::run(SharedJob job) {
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  auto [thrown, reviewed] = co_await asio::co_spawn(
      workers_.get_executor(),
      [this, job]() -> asio::awaitable<Reviewed> {
        if (!job->wanted) co_return Reviewed{};
        co_return review(job->bytes, options_.review, translate_);
      },
      asio::as_tuple(asio::use_awaitable));
  HF_CHECK(thrown == nullptr, "a review does not throw");
  running_ -= 1;
  running_bytes_ -= job->bytes.size();
  counters_.running.set(static_cast<double>(running_));
  job->reviewed = std::move(reviewed);
  job->done.cancel();
}

}  // namespace holdfast::inject
