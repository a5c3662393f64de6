// The webhook as an API server, and as anybody else, sees it over HTTP.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <atomic>
#include <future>
#include <thread>

#include "base/reason.h"
#include "fake_api_server.h"
#include "running_webhook.h"
#include "support/eventually.h"
#include "support/http_client.h"

namespace holdfast::test {
namespace {

namespace json = boost::json;
using inject::InjectOptions;
using inject::Translation;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

// Marks every container that is not marked, and says how many.
Result<Translation> mark(const json::value& pod, const InjectOptions&) {
  Translation made{.document = pod, .patch = {}, .warnings = {}};
  size_t index = 0;
  for (const json::value& container : pod.at("spec").at("containers").as_array()) {
    if (!container.as_object().contains("marked")) {
      made.patch.push_back({{"op", "add"},
                            {"path", "/spec/containers/" + std::to_string(index) + "/marked"},
                            {"value", true}});
    }
    index += 1;
  }
  if (!made.patch.empty()) {
    made.warnings.push_back({"HF7120", "", "marked " + std::to_string(made.patch.size())});
  }
  return made;
}

json::value webhook_pod(const char* metadata = R"({"generateName":"web-"})") {
  return json::parse(std::string(R"({"metadata":)") + metadata +
                     R"(,"spec":{"containers":[{"name":"app","ports":[{"containerPort":80}]}]}})");
}

WebhookClientConfig config_of(const RunningWebhook& webhook) {
  return {.address = webhook.https(),
          .server_name = "localhost",
          .ca_pem = webhook.certificate().certificate_pem};
}

struct WebhookTest : testing::Test {
  Reply ask(std::string_view head, std::string_view body = {}) {
    HttpClient client(webhook.https());
    EXPECT_TRUE(client.start_tls(nullptr));
    client.send(head);
    client.send(body);
    return client.read_reply();
  }
  Reply post(const std::string& headers, const std::string& body) {
    return ask("POST /inject?timeout=2s HTTP/1.1\r\nHost: x\r\n" + headers +
                   "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n",
               body);
  }

  RunningWebhook webhook{mark};
  FakeApiServer api{config_of(webhook)};
};

TEST_F(WebhookTest, APodIsPatchedForBothVersionsAndBothPolicies) {
  for (const char* version : {"admission.k8s.io/v1", "admission.k8s.io/v1beta1"}) {
    for (const FailurePolicy policy : {FailurePolicy::Fail, FailurePolicy::Ignore}) {
      WebhookClientConfig config = config_of(webhook);
      config.version = version;
      config.policy = policy;
      FakeApiServer server(config);

      const Admission made = server.create({.pod = webhook_pod()});

      EXPECT_EQ(made.code, 201) << made.message;
      EXPECT_FALSE(made.webhook_failed) << made.message;
      EXPECT_EQ(made.pod.at("spec").at("containers").at(0).at("marked"), true);
      EXPECT_EQ(made.warnings, std::vector<std::string>{"HF7120: marked 1"});
    }
  }
  EXPECT_EQ(webhook.counted("holdfast_injector_reviews_total", {{"verdict", "patched"}}), 4);
}

TEST_F(WebhookTest, OneConnectionServesManyReviews) {
  for (int i = 0; i < 50; ++i) EXPECT_EQ(api.create({.pod = webhook_pod()}).code, 201);

  EXPECT_EQ(api.connections().dialled, 1U);
  EXPECT_EQ(api.calls(), 50);
}

TEST_F(WebhookTest, AContainerOfAnotherWebhookIsSeenInTheSecondCall) {
  api.add_other_webhook([](json::value& changed) {
    changed.at("spec").at("containers").as_array().push_back({{"name", "added"}});
  });

  const Admission made = api.create({.pod = webhook_pod()});

  EXPECT_EQ(api.calls(), 2);
  EXPECT_EQ(made.code, 201) << made.message;
  const json::array& containers = made.pod.at("spec").at("containers").as_array();
  ASSERT_EQ(containers.size(), 2U);
  for (const json::value& container : containers) EXPECT_EQ(container.at("marked"), true);
}

TEST_F(WebhookTest, AReinvocationThatFindsNothingToDoSendsNoPatch) {
  api.add_other_webhook([](json::value& changed) {
    changed.at("metadata").as_object()["labels"] = {{"other", "was-here"}};
  });

  EXPECT_EQ(api.create({.pod = webhook_pod()}).code, 201);

  EXPECT_EQ(webhook.counted("holdfast_injector_reviews_total", {{"verdict", "patched"}}), 1);
  EXPECT_EQ(webhook.counted("holdfast_injector_reviews_total", {{"verdict", "unchanged"}}), 1);
}

TEST_F(WebhookTest, ADryRunIsPatchedToo) {
  const Admission made = api.create({.pod = webhook_pod(), .dry_run = true});

  EXPECT_EQ(made.pod.at("spec").at("containers").at(0).at("marked"), true);
}

TEST_F(WebhookTest, AConflictIsDeniedWhateverTheFailurePolicy) {
  RunningWebhook strict([](const json::value&, const InjectOptions&) -> Result<Translation> {
    return coded(absl::StatusCode::kInvalidArgument, "HF7101", "port 9000 is taken");
  });
  WebhookClientConfig config = config_of(strict);
  config.policy = FailurePolicy::Ignore;

  const Admission made = FakeApiServer(config).create({.pod = webhook_pod()});

  EXPECT_EQ(made.code, 400);
  EXPECT_EQ(made.message, "denied the request: HF7101: port 9000 is taken");
}

TEST_F(WebhookTest, ACertificateOfAnotherAuthorityOrNameIsNotTrusted) {
  WebhookClientConfig stranger = config_of(webhook);
  stranger.ca_pem = make_test_certificate("other").certificate_pem;
  WebhookClientConfig misnamed = config_of(webhook);
  misnamed.server_name = "injector.shop.svc";

  EXPECT_TRUE(FakeApiServer(stranger).create({.pod = webhook_pod()}).webhook_failed);
  EXPECT_TRUE(FakeApiServer(misnamed).create({.pod = webhook_pod()}).webhook_failed);
}

TEST_F(WebhookTest, WhatIsNoReviewIsAnsweredAsControllerRuntimeDoes) {
  const std::string good = api.review_of({.pod = webhook_pod()}, "u-1");
  const std::string json_type = "Content-Type: application/json\r\n";
  const struct {
    const char* what;
    std::string headers;
    std::string body;
    const char* why;
  } rows[] = {
      {"an empty body", json_type, "", "no body"},
      {"a wrong content type", "Content-Type: application/foo\r\n", good, "Content-Type"},
      {"no content type", "", good, "Content-Type"},
      {"two content types", json_type + "Content-Type: text/plain\r\n", good, "Content-Type"},
      {"undecodable", json_type, "{", "not JSON"},
      {"another object", json_type, R"({"kind":"Pod","apiVersion":"v1"})", "AdmissionReview"},
  };
  for (const auto& row : rows) {
    const Reply reply = post(row.headers, row.body);

    EXPECT_EQ(reply.status, 200) << row.what;
    const json::value answer = json::parse(reply.body);
    EXPECT_EQ(answer.at("apiVersion"), "admission.k8s.io/v1") << row.what;
    EXPECT_EQ(answer.at("response").at("allowed"), false) << row.what;
    EXPECT_EQ(answer.at("response").at("status").at("code"), 400) << row.what;
    EXPECT_THAT(reply.body, HasSubstr(row.why)) << row.what;
  }
  EXPECT_EQ(webhook.counted("holdfast_injector_reviews_total", {{"verdict", "malformed"}}), 6);
}

TEST_F(WebhookTest, AContentTypeMayNameItsCharset) {
  const Reply reply = post("Content-Type: application/json; charset=utf-8\r\n",
                           api.review_of({.pod = webhook_pod()}, "u-1"));

  EXPECT_THAT(reply.body, HasSubstr("JSONPatch"));
}

TEST_F(WebhookTest, OnlyItsOwnPathsAndMethodsAreAnswered) {
  const std::pair<const char*, int> rows[] = {
      {"GET /inject", 405},   {"PUT /inject", 405},     {"POST /", 404},
      {"POST /inject/", 404}, {"GET /healthz/", 404},   {"POST /inject/?x=y", 404},
      {"POST /mutate", 404},  {"POST /inject/x", 404},  {"GET /metrics", 404},
      {"GET /healthz", 200},  {"GET /readyz?x=y", 200}, {"GET /livez", 200},
      {"POST /healthz", 405}, {"DELETE /readyz", 405},  {"GET /..%2f..%2fetc", 400},
  };
  for (const auto& [asked, status] : rows) {
    const Reply reply =
        ask(std::string(asked) + " HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
    EXPECT_EQ(reply.status, status) << asked;
    if (status == 405) EXPECT_THAT(reply.head, HasSubstr("Allow: ")) << asked;
  }
}

TEST_F(WebhookTest, TheBodysLimitIsSevenMebibytesAndHoldsForEveryForm) {
  const std::string review = api.review_of({.pod = webhook_pod()}, "u-1");
  const std::string type = "Content-Type: application/json\r\n";
  const std::string just_fits = review + std::string(inject::kMaxReviewBytes - review.size(), ' ');

  EXPECT_THAT(post(type, just_fits).body, HasSubstr("JSONPatch"));
  EXPECT_EQ(post(type, just_fits + " ").status, 413);

  HttpClient endless(webhook.https());
  ASSERT_TRUE(endless.start_tls(nullptr));
  endless.send("POST /inject HTTP/1.1\r\nHost: x\r\n" + type +
               "Transfer-Encoding: chunked\r\n\r\n");
  const std::string chunk = "10000\r\n" + std::string(0x10000, ' ') + "\r\n";
  size_t sent = 0;
  while (sent < 4 * inject::kMaxReviewBytes && endless.send(chunk)) sent += 0x10000;
  EXPECT_EQ(endless.read_reply().status, 413);
  EXPECT_EQ(webhook.counted("holdfast_http_requests_total", {{"code", "413"}}), 2);
}

// As a client does that writes all of its request before it reads.
TEST_F(WebhookTest, WhoSendsTooMuchCanStillReadWhy) {
  const std::string body(2 * inject::kMaxReviewBytes, ' ');
  const std::string head = "POST /inject HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n";
  for (const std::string& form :
       {fmt::format("Content-Length: {}\r\n\r\n{}", body.size(), body),
        fmt::format("Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{}\r\n0\r\n\r\n", body.size(),
                    body)}) {
    HttpClient client(webhook.https());
    ASSERT_TRUE(client.start_tls(nullptr));

    EXPECT_TRUE(client.send(head + form));

    const Reply reply = client.read_reply();
    EXPECT_EQ(reply.status, 413);
    EXPECT_THAT(reply.body, HasSubstr("HF6032"));
  }
}

TEST_F(WebhookTest, AChunkedReviewIsTaken) {
  const std::string review = api.review_of({.pod = webhook_pod()}, "u-1");
  std::string chunks;
  for (size_t at = 0; at < review.size(); at += 16) {
    const std::string piece = review.substr(at, 16);
    chunks += fmt::format("{:x}\r\n{}\r\n", piece.size(), piece);
  }
  const Reply reply =
      ask("POST /inject HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
          "Transfer-Encoding: chunked\r\n\r\n",
          chunks + "0\r\n\r\n");

  EXPECT_THAT(reply.body, HasSubstr("JSONPatch"));
}

TEST_F(WebhookTest, ReadinessAndMetricsAreShownWithoutTls) {
  api.create({.pod = webhook_pod()});
  webhook.on_loop([](inject::WebhookServer& server) {
    server.set_warning(coded(absl::StatusCode::kFailedPrecondition, "HF7152", "a half pair"));
  });

  HttpClient client(webhook.http());
  const Reply ready = client.ask("GET /readyz");
  EXPECT_EQ(ready.status, 200);
  EXPECT_THAT(ready.body, HasSubstr(R"({"code":"HF7152","message":"a half pair"})"));
  const Reply metrics = client.ask("GET /metrics");
  EXPECT_THAT(metrics.body, HasSubstr(R"(holdfast_injector_reviews_total{verdict="patched"} 1)"));
  EXPECT_EQ(client.ask("POST /inject").status, 404);

  webhook.on_loop([](inject::WebhookServer& server) {
    server.set_trouble(coded(absl::StatusCode::kFailedPrecondition, "HF7155", "expired"));
  });
  EXPECT_EQ(client.ask("GET /readyz").status, 503);
  EXPECT_EQ(client.ask("GET /healthz").status, 200);
}

// A translation that waits until it is let go.
struct Gate {
  std::promise<void> open{};
  std::shared_future<void> opened{open.get_future()};
  std::atomic<int> entered = 0;

  inject::Translate translate() {
    return [this](const json::value& seen, const InjectOptions& options) {
      entered += 1;
      opened.wait();
      return mark(seen, options);
    };
  }
};

TEST(WebhookTime, TheAnswerComesBeforeTheGrantedTimeIsOver) {
  Gate gate;
  RunningWebhook slow(gate.translate());
  WebhookClientConfig config = config_of(slow);
  config.timeout_seconds = 60;  // this client's patience; what it grants is in the call
  FakeApiServer api(config);
  net::HttpCall call = api.call_of(api.review_of({.pod = webhook_pod()}, "u"));
  call.target = config.path + "?timeout=5s";

  // The gate stays closed: only the granted time can end it.
  const auto begin = std::chrono::steady_clock::now();
  const Result<net::HttpAnswer> answer = api.post(std::move(call));
  const auto took = std::chrono::steady_clock::now() - begin;

  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->status, 504);
  EXPECT_THAT(answer->body, HasSubstr("HF7154"));
  EXPECT_GT(took, seconds(4));
  EXPECT_EQ(slow.counted("holdfast_injector_refused_total", {{"reason", "late"}}), 1);
  EXPECT_EQ(slow.running(), 1U);  // what was begun still counts
  gate.open.set_value();
  EXPECT_TRUE(eventually([&] { return slow.running() == 0; }, seconds(10)));
}

TEST(WebhookTime, TheTimeRunsFromTheFirstByteOfTheRequest) {
  RunningWebhook webhook(mark);
  HttpClient client(webhook.https());
  ASSERT_TRUE(client.start_tls(nullptr));
  const std::string body = "{}";
  client.send(
      "POST /inject?timeout=300ms HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n");
  let_pass(milliseconds(400));
  client.send("Content-Length: 2\r\n\r\n" + body);

  EXPECT_EQ(client.read_reply().status, 504);
}

TEST(WebhookLimits, ReviewsBeyondTheLimitAreRefusedAtOnceAndHealthStillAnswers) {
  Gate gate;
  RunningWebhook full(gate.translate(), {.max_reviews = 3});
  std::vector<std::thread> callers;
  std::atomic<int> created = 0;
  for (int i = 0; i < 3; ++i) {
    callers.emplace_back([&] {
      FakeApiServer api(config_of(full));
      created += api.create({.pod = webhook_pod()}).code == 201 ? 1 : 0;
    });
  }
  ASSERT_TRUE(eventually([&] { return full.running() == 3; }, seconds(10)));

  FakeApiServer api(config_of(full));
  const Result<net::HttpAnswer> refused =
      api.post(api.call_of(api.review_of({.pod = webhook_pod()}, "u")));
  ASSERT_TRUE(refused.ok());
  EXPECT_EQ(refused->status, 503);
  EXPECT_THAT(refused->body, HasSubstr("HF7153"));
  EXPECT_EQ(full.counted("holdfast_injector_refused_total", {{"reason", "busy"}}), 1);
  EXPECT_EQ(HttpClient(full.http()).ask("GET /readyz").status, 200);

  gate.open.set_value();
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(created, 3);
  EXPECT_LE(gate.entered, 3);
}

TEST(WebhookLimits, TheBytesOfReviewsUnderWayAreBoundedToo) {
  Gate gate;
  RunningWebhook full(gate.translate(), {.max_buffered_bytes = 10'000});
  FakeApiServer api(config_of(full));
  const std::string review = api.review_of({.pod = webhook_pod()}, "u");
  const std::string large = review + std::string(6'000 - review.size(), ' ');
  std::thread first([&] {
    FakeApiServer caller(config_of(full));
    EXPECT_EQ(caller.post(caller.call_of(large))->status, 200);
  });
  ASSERT_TRUE(eventually([&] { return full.running() == 1; }, seconds(10)));

  // Together with what waits in the connection it is too much for either.
  const Result<net::HttpAnswer> refused = api.post(api.call_of(large));
  ASSERT_TRUE(refused.ok());
  EXPECT_EQ(refused->status, 503);
  gate.open.set_value();
  first.join();
  EXPECT_EQ(api.post(api.call_of(large))->status, 200);
}

TEST(WebhookStop, ReviewsThatWaitForAWorkerEndBeforeTheServerDoes) {
  Gate gate;
  RunningWebhook webhook(gate.translate());
  std::vector<std::thread> callers;
  for (int i = 0; i < 5; ++i) {
    callers.emplace_back([&] { FakeApiServer(config_of(webhook)).create({.pod = webhook_pod()}); });
  }
  ASSERT_TRUE(eventually([&] { return webhook.running() == 5; }, seconds(10)));

  std::thread opener([&] {
    let_pass(milliseconds(1'500));  // longer than a server that stops is patient
    gate.open.set_value();
  });
  webhook.stop();
  opener.join();
  for (std::thread& caller : callers) caller.join();

  EXPECT_LE(gate.entered, 5);
}

TEST(WebhookTls, ReplacedCertificatesLoseNoRequest) {
  RunningWebhook webhook(mark);
  const TestCertificate other = make_test_certificate("other");
  const std::string both = webhook.certificate().certificate_pem + other.certificate_pem;
  std::atomic<bool> done = false;
  std::atomic<int> created = 0;
  std::atomic<int> failed = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&, i] {
      WebhookClientConfig config = config_of(webhook);
      config.ca_pem = both;
      auto api = std::make_unique<FakeApiServer>(config);
      while (!done) {
        // Half of them dial anew each time, half keep their connection.
        if (i % 2 == 0) api = std::make_unique<FakeApiServer>(config);
        (api->create({.pod = webhook_pod()}).code == 201 ? created : failed) += 1;
      }
    });
  }
  for (int i = 0; i < 40; ++i) {
    webhook.use(i % 2 == 0 ? other : webhook.certificate());
    const int before = created;
    EXPECT_TRUE(eventually([&] { return created > before + 4; }, seconds(20)));
  }
  done = true;
  for (std::thread& caller : callers) caller.join();

  EXPECT_EQ(failed, 0);
  EXPECT_GT(created, 160);
}

}  // namespace
}  // namespace holdfast::test
