// The injector as a real process, asked by the fake API server, by curl and by openssl.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <csignal>
#include <fstream>
#include <thread>

#include "e2e/injector_process.h"
#include "support/eventually.h"
#include "support/http_client.h"
#include "support/paths.h"

namespace holdfast::test {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

json::value web_pod() {
  return json::parse(R"({"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"web-"},
    "spec":{"future":{"kept":[1,2]},"containers":[{"name":"app","image":"app:1",
      "ports":[{"name":"http","containerPort":8080}],
      "readinessProbe":{"httpGet":{"path":"/healthz?full=1","port":"http"},"periodSeconds":3},
      "livenessProbe":{"grpc":{"port":6852,"service":"liveness"}},
      "startupProbe":{"tcpSocket":{"port":6853}}}]}})");
}

const json::value& container(const json::value& pod, const char* name) {
  for (const json::value& one : pod.at("spec").at("containers").as_array()) {
    if (one.at("name") == name) return one;
  }
  static const json::value kNone = json::object();
  return kNone;
}

std::string probe_path(const json::value& app, const char* probe) {
  const json::value& http = app.at(probe).at("httpGet");
  return fmt::format("{}{}", http.at("port").as_int64(), http.at("path").as_string().c_str());
}

struct InjectorTest : testing::Test {
  PrintedPair pair = printed_pair();
  InjectorProcess injector{pair};
  FakeApiServer api{injector.client_config(pair.ca)};
};

TEST_F(InjectorTest, APodIsTranslatedAsTheSeedSays) {
  const Admission made = api.create({.pod = web_pod()});

  ASSERT_EQ(made.code, 201) << made.message << injector.log();
  ASSERT_FALSE(made.webhook_failed) << made.message;
  const json::value& app = container(made.pod, "app");
  EXPECT_EQ(probe_path(app, "readinessProbe"), "9000/8080/healthz?full=1");
  EXPECT_EQ(probe_path(app, "livenessProbe"), "9000/grpc/6852/liveness");
  EXPECT_EQ(probe_path(app, "startupProbe"), "9000/tcp/6853");
  EXPECT_EQ(app.at("readinessProbe").at("periodSeconds"), 3);
  EXPECT_THAT(json::serialize(container(made.pod, "holdfast-sidecar")),
              HasSubstr("HOLDFAST_DATAPLANE_PROBES"));
  EXPECT_EQ(made.pod.at("spec").at("future"), web_pod().at("spec").at("future"));
  EXPECT_EQ(check_pod(made.pod).code, 0);
}

TEST_F(InjectorTest, ASecondReviewOfTheSamePodChangesNothing) {
  const Admission first = api.create({.pod = web_pod()});
  ASSERT_EQ(first.code, 201) << first.message;

  const std::string review = api.review_of({.pod = first.pod}, "u-2");
  const Result<net::HttpAnswer> again = api.post(api.call_of(review));

  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_THAT(again->body, Not(HasSubstr("patch")));
  EXPECT_THAT(again->body, HasSubstr(R"("allowed":true)"));
}

TEST_F(InjectorTest, AContainerThatAnotherWebhookAddedIsTranslatedByReinvocation) {
  api.add_other_webhook([](json::value& pod) {
    if (container(pod, "added").as_object().empty()) {
      pod.at("spec")
          .at("containers")
          .as_array()
          .push_back(json::parse(
              R"({"name":"added","image":"x","livenessProbe":{"tcpSocket":{"port":7}}})"));
    }
  });

  const Admission made = api.create({.pod = web_pod()});

  ASSERT_EQ(made.code, 201) << made.message;
  EXPECT_EQ(api.calls(), 2);
  EXPECT_EQ(probe_path(container(made.pod, "added"), "livenessProbe"), "9000/tcp/7");
  EXPECT_EQ(probe_path(container(made.pod, "app"), "startupProbe"), "9000/tcp/6853");
}

TEST_F(InjectorTest, V1beta1AndDryRunAreAnsweredToo) {
  WebhookClientConfig config = injector.client_config(pair.ca);
  config.version = "admission.k8s.io/v1beta1";
  FakeApiServer old(config);

  const Admission made = old.create({.pod = web_pod(), .dry_run = true});

  EXPECT_EQ(made.code, 201) << made.message;
  EXPECT_EQ(probe_path(container(made.pod, "app"), "startupProbe"), "9000/tcp/6853");
}

TEST_F(InjectorTest, APodWhosePortIsTheHandlersIsDeniedWithItsReason) {
  json::value pod = web_pod();
  pod.at("spec").at("containers").at(0).at("ports").at(0).as_object()["containerPort"] = 9000;

  const Admission made = api.create({.pod = pod});

  EXPECT_EQ(made.code, 400);
  EXPECT_THAT(made.message, HasSubstr("HF71"));
  EXPECT_THAT(made.message, HasSubstr("9000"));
}

TEST_F(InjectorTest, TheClustersOwnNamespacesAreLeftAlone) {
  const Admission made = api.create({.pod = web_pod(), .name_space = "kube-system"});

  EXPECT_EQ(made.code, 201);
  EXPECT_EQ(container(made.pod, "app").at("startupProbe").as_object().count("tcpSocket"), 1U);
}

TEST_F(InjectorTest, CurlTrustsItByNameAndIsAnswered) {
  std::ofstream(injector.file("review.json")) << api.review_of({.pod = web_pod()}, "u-curl");
  const ProgramOutcome asked = run_program(ProgramRun{
      .arguments = {"curl", "-sS", "--compressed", "--max-time", "20", "--cacert",
                    injector.file("ca.pem"), "--resolve",
                    fmt::format("{}:{}:127.0.0.1", kInjectorName, injector.port()), "-H",
                    "Content-Type: application/json", "--data-binary",
                    "@" + injector.file("review.json"), "-w", "\n%{http_code} %{http_version}",
                    injector.url("/inject?timeout=10s")},
      .patience = 30s});

  EXPECT_EQ(asked.exit_code, 0) << asked.error;
  EXPECT_THAT(asked.output, HasSubstr(R"("uid":"u-curl")"));
  EXPECT_THAT(asked.output, HasSubstr(R"("patchType":"JSONPatch")"));
  EXPECT_THAT(asked.output, HasSubstr("\n200 1.1"));
}

TEST_F(InjectorTest, OpensslVerifiesItsChainAndItsName) {
  const auto verify = [&](const char* name) {
    return run_program(
        ProgramRun{.arguments = {"openssl", "s_client", "-connect", injector.https(), "-servername",
                                 name, "-verify_hostname", name, "-verify_return_error", "-CAfile",
                                 injector.file("ca.pem"), "-alpn", "h2,http/1.1"},
                   .input = "",
                   .patience = 30s});
  };

  const ProgramOutcome right = verify(kInjectorName);
  EXPECT_EQ(right.exit_code, 0) << right.output << right.error;
  EXPECT_THAT(right.output, HasSubstr("Verify return code: 0 (ok)"));
  EXPECT_NE(verify("other.holdfast-system.svc").exit_code, 0);
}

TEST_F(InjectorTest, AHalfWrittenPairKeepsTheOldOneAndShows) {
  const PrintedPair next = printed_pair();
  injector.write(next.certificate, pair.key);

  EXPECT_TRUE(eventually(
      [&] { return HttpClient(injector.http()).ask("GET /readyz").body.contains("HF7152"); }, 20s));
  EXPECT_EQ(HttpClient(injector.http()).ask("GET /readyz").status, 200);
  EXPECT_EQ(FakeApiServer(injector.client_config(pair.ca)).create({.pod = web_pod()}).code, 201);
  EXPECT_THAT(injector.metrics(),
              HasSubstr(R"(holdfast_injector_certificates_total{outcome="refused"} 1)"));

  injector.write(next.certificate, next.key);
  EXPECT_TRUE(eventually(
      [&] {
        return FakeApiServer(injector.client_config(next.ca)).create({.pod = web_pod()}).code ==
               201;
      },
      20s));
  EXPECT_THAT(HttpClient(injector.http()).ask("GET /readyz").body, Not(HasSubstr("HF7152")));
}

TEST_F(InjectorTest, FilesThatAreGoneShowAtOnceWithSighup) {
  std::filesystem::remove(injector.file("tls.key"));
  injector.signal(SIGHUP);

  EXPECT_TRUE(eventually(
      [&] { return HttpClient(injector.http()).ask("GET /readyz").body.contains("HF7151"); }, 20s));
  EXPECT_EQ(api.create({.pod = web_pod()}).code, 201);
}

TEST_F(InjectorTest, CertificatesReplacedUnderLoadLoseNoRequest) {
  const PrintedPair next = printed_pair();
  std::atomic<bool> done = false;
  std::atomic<int> created = 0;
  std::atomic<int> failed = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 3; ++i) {
    callers.emplace_back([&, i] {
      const WebhookClientConfig config = injector.client_config(pair.ca + next.ca);
      auto caller = std::make_unique<FakeApiServer>(config);
      while (!done) {
        if (i > 0) caller = std::make_unique<FakeApiServer>(config);
        const Admission made = caller->create({.pod = web_pod()});
        (made.code == 201 && !made.webhook_failed ? created : failed) += 1;
      }
    });
  }
  for (int i = 0; i < 6; ++i) {
    const PrintedPair& now = i % 2 == 0 ? next : pair;
    injector.write(now.certificate, now.key);
    if (i % 3 == 0) injector.signal(SIGHUP);
    EXPECT_TRUE(eventually(
        [&] {
          const WebhookClientConfig config = injector.client_config(now.ca);
          return FakeApiServer(config).create({.pod = web_pod()}).code == 201;
        },
        20s));
  }
  done = true;
  for (std::thread& caller : callers) caller.join();

  EXPECT_EQ(failed, 0) << injector.log();
  EXPECT_GT(created, 20);
}

TEST(InjectorStop, ItStillAnswersWhileOthersLearnThatItLeaves) {
  const PrintedPair pair = printed_pair();
  InjectorProcess injector(pair, {"--set", "injector.stop_delay=60s"});
  injector.signal(SIGTERM);

  EXPECT_TRUE(eventually(
      [&] { return HttpClient(injector.http()).ask("GET /readyz").status == 503; }, 20s));
  EXPECT_EQ(FakeApiServer(injector.client_config(pair.ca)).create({.pod = web_pod()}).code, 201);
  injector.signal(SIGTERM);
  EXPECT_EQ(injector.wait(20s), 0) << injector.log();
}

TEST(InjectorStart, FailsWithItsReasonWithoutAPairThatFits) {
  PrintedPair wrong = printed_pair();
  wrong.key = printed_pair().key;
  InjectorProcess injector(wrong);

  EXPECT_EQ(injector.wait(20s), 1);
  EXPECT_THAT(injector.log(), HasSubstr("HF7152"));
  const ProgramOutcome nothing =
      run_program(ProgramRun{.arguments = {built("holdfastd"), "injector"}, .patience = 20s});
  EXPECT_EQ(nothing.exit_code, 78);
  EXPECT_THAT(nothing.error, HasSubstr("injector.certificate_file"));
}

TEST(InjectorConfig, SwitchedOffItExcludesRealPortsUnlessAPodAsksForMore) {
  const PrintedPair pair = printed_pair();
  InjectorProcess injector(pair, {"--set", "injector.enabled=no"});
  FakeApiServer api(injector.client_config(pair.ca));
  json::value asking = web_pod();
  asking.at("metadata").as_object()["annotations"] =
      json::object{{"kuma.io/virtual-probes", "enabled"}};

  const Admission left = api.create({.pod = web_pod()});
  const Admission made = api.create({.pod = asking});

  ASSERT_EQ(left.code, 201) << left.message;
  EXPECT_EQ(container(left.pod, "app").at("startupProbe").as_object().count("tcpSocket"), 1U);
  EXPECT_TRUE(container(left.pod, "holdfast-sidecar").as_object().empty());
  EXPECT_EQ(left.pod.at("metadata").at("annotations").at("traffic.kuma.io/exclude-inbound-ports"),
            "6852,6853,8080");
  ASSERT_EQ(made.code, 201) << made.message;
  EXPECT_EQ(probe_path(container(made.pod, "app"), "startupProbe"), "9000/tcp/6853");
}

TEST(InjectorConfig, ItsPortAndImageGoIntoThePods) {
  const PrintedPair pair = printed_pair();
  InjectorProcess injector(pair, {"--port", "19000", "--image", "own/image:7"});

  const Admission made = FakeApiServer(injector.client_config(pair.ca)).create({.pod = web_pod()});

  EXPECT_EQ(probe_path(container(made.pod, "app"), "startupProbe"), "19000/tcp/6853");
  EXPECT_EQ(container(made.pod, "holdfast-sidecar").at("image"), "own/image:7");
}

}  // namespace
}  // namespace holdfast::test
