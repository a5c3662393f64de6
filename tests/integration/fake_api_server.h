// As much of an API server as a mutating webhook sees: it fills in a pod's defaults, asks the
// webhook over TLS with the bytes that a real one was measured to send, judges the answer
// (admission.h), lets another webhook change the pod, and asks again if it did.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/json/value.hpp>

#include <functional>
#include <memory>
#include <string>

#include "admission.h"
#include "base/result.h"
#include "net/http_client.h"

namespace holdfast::test {

struct WebhookClientConfig {
  std::string address{};      // where the Service leads: "127.0.0.1:9443"
  std::string server_name{};  // expected in the certificate: SERVICE.NAMESPACE.svc
  std::string ca_pem{};       // caBundle
  std::string path = "/inject";
  std::string version = "admission.k8s.io/v1";
  FailurePolicy policy = FailurePolicy::Fail;
  int timeout_seconds = 10;
  bool reinvoke_if_needed = true;
};

struct PodCreation {
  boost::json::value pod{};
  std::string name_space = "shop";
  bool dry_run = false;
};

class FakeApiServer {
 public:
  explicit FakeApiServer(WebhookClientConfig config);
  ~FakeApiServer();

  Admission create(const PodCreation& creation);
  // Runs after ours.
  void add_other_webhook(std::function<void(boost::json::value& pod)> other);
  // Calls of our webhook so far.
  int calls() const { return calls_; }
  const net::HttpClientStats& connections() const { return client_->stats(); }
  // For what an API server does not send.
  Result<net::HttpAnswer> post(net::HttpCall call);
  // The AdmissionReview about a new pod, and the call that carries it.
  std::string review_of(const PodCreation& creation, const std::string& uid) const;
  net::HttpCall call_of(std::string body) const;

 private:
  Admission ask(const PodCreation& creation);

  WebhookClientConfig config_;
  boost::asio::io_context loop_{1};
  std::unique_ptr<net::HttpClient> client_;
  std::function<void(boost::json::value& pod)> other_;
  int calls_ = 0;
};

}  // namespace holdfast::test
