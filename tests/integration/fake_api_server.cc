#include "fake_api_server.h"

#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <exception>
#include <optional>

#include "base/check.h"

namespace holdfast::test {
namespace {

namespace json = boost::json;

json::object kind(const char* name) {
  return {{"group", ""}, {"version", "v1"}, {"kind", name}};
}

json::object resource() {
  return {{"group", ""}, {"version", "v1"}, {"resource", "pods"}};
}

json::value with_server_fields(const PodCreation& creation) {
  json::value pod = creation.pod;
  set_defaults(pod);
  json::object& metadata = pod.as_object()["metadata"].as_object();
  metadata["managedFields"] = json::parse(
      R"([{"manager":"kubectl","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1",
          "fieldsV1":{"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":{".":{},"f:name":{}}}}}}])");
  return pod;
}

}  // namespace

FakeApiServer::FakeApiServer(WebhookClientConfig config) : config_(std::move(config)) {
  const auto tls =
      net::TlsContext::make_client({.ca_pem = config_.ca_pem, .server_name = config_.server_name});
  HF_CHECK(tls.ok(), "the test's authority is one");
  net::HttpClientOptions options{.addresses = {config_.address}, .tls = *tls};
  options.host = config_.server_name;
  options.timeout = std::chrono::seconds(config_.timeout_seconds);
  client_ = std::make_unique<net::HttpClient>(loop_.get_executor(), std::move(options));
}

FakeApiServer::~FakeApiServer() = default;

void FakeApiServer::add_other_webhook(std::function<void(json::value& pod)> other) {
  other_ = std::move(other);
}

Result<net::HttpAnswer> FakeApiServer::post(net::HttpCall call) {
  std::optional<Result<net::HttpAnswer>> answer;
  boost::asio::co_spawn(loop_, client_->ask(std::move(call)),
                        [&](const std::exception_ptr& thrown, Result<net::HttpAnswer> got) {
                          HF_CHECK(thrown == nullptr, "a client does not throw");
                          answer = std::move(got);
                        });
  loop_.restart();
  loop_.run();
  return *std::move(answer);
}

std::string FakeApiServer::review_of(const PodCreation& creation, const std::string& uid) const {
  json::object request{{"uid", uid},
                       {"kind", kind("Pod")},
                       {"resource", resource()},
                       {"requestKind", kind("Pod")},
                       {"requestResource", resource()},
                       {"namespace", creation.name_space},
                       {"operation", "CREATE"},
                       {"userInfo", {{"username", "admin"}, {"groups", {"system:masters"}}}},
                       {"object", creation.pod},
                       {"oldObject", nullptr},
                       {"dryRun", creation.dry_run},
                       {"options", {{"kind", "CreateOptions"}, {"apiVersion", "meta.k8s.io/v1"}}}};
  const json::object& metadata = creation.pod.at("metadata").as_object();
  if (const json::value* name = metadata.if_contains("name")) request["name"] = *name;
  return json::serialize(json::object{{"kind", "AdmissionReview"},
                                      {"apiVersion", config_.version},
                                      {"request", std::move(request)}});
}

net::HttpCall FakeApiServer::call_of(std::string body) const {
  return {.method = "POST",
          .target = fmt::format("{}?timeout={}s", config_.path, config_.timeout_seconds),
          .headers = {{"Accept", "application/json, */*"},
                      {"Accept-Encoding", "gzip"},
                      {"Content-Type", "application/json"},
                      {"User-Agent", "kube-apiserver-admission"}},
          .body = std::move(body)};
}

Admission FakeApiServer::ask(const PodCreation& creation) {
  calls_ += 1;
  const std::string uid = fmt::format("705ab4f5-6393-11e8-b7cc-{:012}", calls_);
  const Result<net::HttpAnswer> answer = post(call_of(review_of(creation, uid)));
  return admit(
      {.version = config_.version, .uid = uid, .pod = creation.pod, .policy = config_.policy},
      answer);
}

Admission FakeApiServer::create(const PodCreation& creation) {
  PodCreation seen = creation;
  seen.pod = with_server_fields(creation);
  Admission made = ask(seen);
  if (made.code != 201 || !other_) return made;
  const json::value before = made.pod;
  other_(made.pod);
  if (made.pod == before || !config_.reinvoke_if_needed) return made;
  set_defaults(made.pod);
  seen.pod = made.pod;
  Admission again = ask(seen);
  again.warnings.insert(again.warnings.begin(), made.warnings.begin(), made.warnings.end());
  return again;
}

}  // namespace holdfast::test
