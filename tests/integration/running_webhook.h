// The injector's webhook on its own loop and thread, with a translation made for tests.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "base/clock.h"
#include "inject/webhook_server.h"
#include "metrics/metrics.h"
#include "support/test_certificate.h"

namespace holdfast::test {

class RunningWebhook {
 public:
  explicit RunningWebhook(inject::Translate translate, inject::WebhookOptions options = {});
  ~RunningWebhook();

  void on_loop(const std::function<void(inject::WebhookServer& server)>& work);
  void use(const TestCertificate& certificate);
  void stop();

  const std::string& https() const { return https_; }
  const std::string& http() const { return http_; }
  const TestCertificate& certificate() const { return certificate_; }
  double counted(const std::string& family, const metrics::Labels& labels);
  size_t running();

 private:
  SystemClock clock_;
  metrics::Registry registry_{{}};
  boost::asio::io_context loop_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_;
  std::optional<inject::WebhookServer> server_;
  TestCertificate certificate_;
  std::string https_;
  std::string http_;
  std::thread thread_;
};

}  // namespace holdfast::test
