#include "running_webhook.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>

#include <future>

#include "base/check.h"

namespace holdfast::test {
namespace {

namespace asio = boost::asio;

inject::WebhookOptions on_loopback(inject::WebhookOptions options) {
  options.listen = "127.0.0.1:0";
  options.health_listen = "127.0.0.1:0";
  return options;
}

}  // namespace

RunningWebhook::RunningWebhook(inject::Translate translate, inject::WebhookOptions options)
    : guard_(loop_.get_executor()), certificate_(make_test_certificate("injector")) {
  server_.emplace(loop_.get_executor(),
                  inject::WebhookServer::Parts{.clock = clock_, .registry = registry_},
                  std::move(translate), on_loopback(std::move(options)));
  thread_ = std::thread([this] { loop_.run(); });
  on_loop([&](inject::WebhookServer& server) {
    const Result<std::vector<std::string>> addresses = server.listen();
    HF_CHECK(addresses.ok(), addresses.status().ToString());
    https_ = addresses->at(0);
    http_ = addresses->at(1);
  });
  use(certificate_);
}

RunningWebhook::~RunningWebhook() {
  stop();
}

void RunningWebhook::on_loop(const std::function<void(inject::WebhookServer& server)>& work) {
  std::promise<void> done;
  asio::post(loop_, [&] {
    work(*server_);
    done.set_value();
  });
  done.get_future().wait();
}

void RunningWebhook::use(const TestCertificate& certificate) {
  on_loop([&](inject::WebhookServer& server) {
    const Status set = server.set_tls(certificate.certificate_pem, certificate.private_key_pem);
    HF_CHECK(set.ok(), set.ToString());
  });
}

void RunningWebhook::stop() {
  if (!thread_.joinable()) return;
  std::promise<void> stopped;
  asio::co_spawn(loop_, server_->stop(),
                 [&](const std::exception_ptr& /*none*/) { stopped.set_value(); });
  stopped.get_future().wait();
  guard_.reset();
  thread_.join();
  server_.reset();
}

double RunningWebhook::counted(const std::string& family, const metrics::Labels& labels) {
  static const std::map<std::string, std::string> kHelp = {
      {"holdfast_injector_reviews_total", "Admission reviews answered, by verdict."},
      {"holdfast_injector_refused_total", "Admission reviews not carried out, by reason."},
      {"holdfast_http_requests_total", "HTTP requests answered, by status code."}};
  return registry_.counter({.name = family, .help = kHelp.at(family)}).with(labels).value();
}

size_t RunningWebhook::running() {
  size_t count = 0;
  on_loop([&](const inject::WebhookServer& server) { count = server.running(); });
  return count;
}

}  // namespace holdfast::test
