#include "running_http_server.h"

#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <future>

#include "base/check.h"

namespace holdfast::test {
namespace {

net::HttpServerOptions with(net::HttpServerOptions options, const std::atomic<bool>& healthy) {
  options.healthy = [&healthy] { return healthy.load(); };
  return options;
}

net::HttpResponse text(std::string body) {
  return {.content_type = "text/plain", .body = std::move(body)};
}

}  // namespace

RunningHttpServer::RunningHttpServer(net::HttpServerOptions options)
    : guard_(loop_.get_executor()),
      released_(loop_, asio::steady_timer::time_point::max()),
      server_(loop_.get_executor(), clock_, registry_, with(std::move(options), healthy)),
      thread_([this] { loop_.run(); }) {}

RunningHttpServer::~RunningHttpServer() {
  stop();
}

void RunningHttpServer::on_loop(const std::function<void()>& work) {
  std::promise<void> done;
  asio::post(loop_, [&] {
    work();
    done.set_value();
  });
  done.get_future().wait();
}

std::string RunningHttpServer::listen(const std::string& address, bool tls) {
  Result<std::string> bound = absl::UnknownError("");
  on_loop([&] {
    bound = server_.listen({.address = address, .tls = tls},
                           [this](const net::HttpRequest& request) { return handle(request); });
  });
  HF_CHECK(bound.ok(), bound.status().ToString());
  return *bound;
}

Status RunningHttpServer::set_tls(const std::string& certificate_pem,
                                  const std::string& private_key_pem) {
  Status set;
  on_loop([&] { set = server_.set_tls(certificate_pem, private_key_pem); });
  return set;
}

void RunningHttpServer::release_waiting() {
  on_loop([&] { released_.cancel(); });
}

void RunningHttpServer::stop() {
  if (!thread_.joinable()) return;
  asio::post(loop_, [this] {
    asio::co_spawn(loop_, server_.stop(), asio::detached);
    guard_.reset();
  });
  thread_.join();
}

double RunningHttpServer::counted(const std::string& family, const metrics::Labels& labels) {
  // With its labels as one line of the page shows them.
  std::string line = "holdfast_http_" + family + "{";
  for (const auto& [name, value] : labels) line += fmt::format("{}=\"{}\"", name, value);
  const std::string page = registry_.expose();
  const size_t at = page.find(line + "} ");
  return at == std::string::npos ? 0 : std::atof(page.c_str() + at + line.size() + 2);
}

double RunningHttpServer::connections() {
  const std::string page = registry_.expose();
  const std::string line = "\nholdfast_http_connections ";
  const size_t at = page.find(line);
  return at == std::string::npos ? -1 : std::atof(page.c_str() + at + line.size());
}

asio::awaitable<void> RunningHttpServer::tick(net::HttpSink& sink) {
  streams += 1;
  bool going = true;
  while (going) {
    const Status written = co_await sink.write("tick\n");
    const bool waited = co_await net::pause(std::chrono::milliseconds(10));
    going = written.ok() && waited;
  }
  streams -= 1;
}

asio::awaitable<net::HttpResponse> RunningHttpServer::handle(const net::HttpRequest& request) {
  std::string path = request.target.segments.empty() ? "" : request.target.segments.front();
  if (!request.raw_target.empty()) path = request.raw_target.substr(1);
  if (path == "reset") co_return net::HttpResponse{.reset = true};
  if (path == "peer") {
    co_return text(
        fmt::format("{} {} {}", request.peer.source, request.peer.local, request.peer.chain_pem));
  }
  if (path == "size") co_return text(fmt::format("{}", request.body.size()));
  if (path == "big") co_return text(std::string(16 << 20, 'x'));
  if (path == "stream") {
    net::HttpResponse response = text("");
    response.stream = [this](net::HttpSink& sink) { return tick(sink); };
    co_return response;
  }
  if (path == "wait") {
    waiting += 1;
    co_await released_.async_wait(asio::as_tuple(asio::use_awaitable));
    waiting -= 1;
  }
  if (!request.raw_target.empty()) co_return text(request.raw_target);
  co_return text("hello " + request.method);
}

}  // namespace holdfast::test
