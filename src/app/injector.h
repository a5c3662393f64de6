// `holdfastd injector`: the webhook that translates new pods, and its certificate kept fresh.
// Wiring only. It has no identity in the cluster and asks nobody anything.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "config/config.h"
#include "inject/certificate_loader.h"
#include "inject/webhook_server.h"
#include "metrics/metrics.h"
#include "net/task_group.h"

namespace holdfast::app {

namespace asio = boost::asio;

class Injector {
 public:
  Injector(const asio::any_io_executor& loop, const Clock& clock,
           const config::InjectorSection& config, const std::string& version);

  // The addresses it has. Fails without a certificate that can be used, and with options that
  // cannot.
  Result<std::vector<std::string>> listen();
  void start() { tasks_.spawn(tick()); }
  // Reads the certificate's files now; what came of it is logged and shown.
  void look();
  // Not ready from now on, though it still answers.
  void say_goodbye();
  // A configuration that was read again: wrong ones show until one is right.
  void on_configuration(Status read);
  asio::awaitable<void> stop();

 private:
  Result<WallTime> use(const inject::CertificateFiles& texts);
  asio::awaitable<void> tick();
  void show();

  const Clock& clock_;
  metrics::Registry registry_;
  metrics::Family<metrics::Counter>& reloads_;
  metrics::Gauge ends_;
  inject::WebhookServer webhook_;
  const Status options_;  // what is wrong with them
  inject::CertificateLoader certificate_;
  Status configuration_;
  bool ended_ = false;  // and said so
  bool leaving_ = false;
  net::TaskGroup tasks_;
};

}  // namespace holdfast::app
