// Table 5.1 and rules 5.2 of the research, as far as they are about one review. What the API server
// makes of the answers is in tests/integration/webhook_test.cc.
#include "inject/review.h"

#include <absl/strings/escaping.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "base/bytes.h"
#include "base/reason.h"

namespace holdfast::inject {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

struct Question {
  std::string version = "admission.k8s.io/v1";
  std::string kind = "Pod";
  std::string operation = "CREATE";
  std::string name_space = "shop";
  json::object more{};  // of the request
  json::value pod = json::parse(R"({"metadata":{"generateName":"web-"},"spec":{}})");
};

std::string to_bytes(const Question& question) {
  json::object request{{"uid", "u-1"},
                       {"kind", {{"group", ""}, {"version", "v1"}, {"kind", question.kind}}},
                       {"operation", question.operation},
                       {"namespace", question.name_space},
                       {"object", question.pod},
                       {"oldObject", nullptr}};
  for (const auto& [key, value] : question.more) request[key] = value;
  return json::serialize(json::object{
      {"apiVersion", question.version}, {"kind", "AdmissionReview"}, {"request", request}});
}

// Adds one annotation, or does as it is told.
Result<Translation> annotate_pod(const json::value& pod, const InjectOptions&) {
  json::array patch;
  patch.push_back({{"op", "add"}, {"path", "/metadata/annotations"}, {"value", json::object()}});
  return Translation{.document = pod, .patch = patch, .warnings = {}};
}

Translate failing(absl::StatusCode code, std::string message) {
  return [code, message](const json::value&, const InjectOptions&) -> Result<Translation> {
    return coded(code, "HF7101", message);
  };
}

Translate warning(std::vector<std::string> warnings) {
  return [warnings](const json::value& pod, const InjectOptions&) -> Result<Translation> {
    Translation made{.document = pod, .patch = {}, .warnings = {}};
    for (size_t i = 0; i < warnings.size(); ++i) {
      made.warnings.push_back({"W" + std::to_string(i % 40), "", warnings[i]});
    }
    return made;
  };
}

json::object response_of(const Reviewed& reviewed) {
  return json::parse(reviewed.body).as_object().at("response").as_object();
}

TEST(Review, ANewPodIsAnsweredWithItsUidAPatchAndThePatchsType) {
  const Reviewed made = review(to_bytes({}), {}, annotate_pod);

  EXPECT_EQ(made.verdict, Verdict::Patched);
  const json::object response = response_of(made);
  EXPECT_EQ(response.at("uid"), "u-1");
  EXPECT_EQ(response.at("allowed"), true);
  EXPECT_EQ(response.at("patchType"), "JSONPatch");
  std::string patch;
  const json::string& encoded = response.at("patch").as_string();
  ASSERT_TRUE(absl::Base64Unescape(absl::string_view(encoded.data(), encoded.size()), &patch));
  EXPECT_EQ(patch, R"([{"op":"add","path":"/metadata/annotations","value":{}}])");
  EXPECT_FALSE(response.contains("warnings"));
  EXPECT_EQ(made.operations, 1U);
}

TEST(Review, TheAnswerIsInTheVersionOfTheQuestion) {
  for (const char* version : {"admission.k8s.io/v1", "admission.k8s.io/v1beta1"}) {
    const Reviewed made = review(to_bytes({.version = version}), {}, annotate_pod);

    const json::object answer = json::parse(made.body).as_object();
    EXPECT_EQ(answer.at("apiVersion"), version);
    EXPECT_EQ(answer.at("kind"), "AdmissionReview");
  }
}

TEST(Review, AnEmptyPatchIsNotSentAtAll) {
  const Reviewed made = review(to_bytes({}), {}, warning({}));

  EXPECT_EQ(made.verdict, Verdict::Unchanged);
  const json::object response = response_of(made);
  EXPECT_EQ(response.at("allowed"), true);
  EXPECT_FALSE(response.contains("patch"));
  EXPECT_FALSE(response.contains("patchType"));
}

TEST(Review, AConflictIsDeniedWith400AndItsReason) {
  const Reviewed made = review(
      to_bytes({}), {}, failing(absl::StatusCode::kInvalidArgument, "port 9000 is the handler's"));

  EXPECT_EQ(made.verdict, Verdict::Denied);
  const json::object response = response_of(made);
  EXPECT_EQ(response.at("allowed"), false);
  EXPECT_EQ(response.at("uid"), "u-1");
  EXPECT_FALSE(response.contains("patch"));
  const json::object& status = response.at("status").as_object();
  EXPECT_EQ(status.at("code"), 400);
  EXPECT_EQ(status.at("message"), "HF7101: port 9000 is the handler's");
  EXPECT_EQ(made.reason, "HF7101: port 9000 is the handler's");
}

TEST(Review, AnyOtherFailureLetsThePodInAsItIsWithAWarning) {
  const Reviewed made =
      review(to_bytes({}), {}, failing(absl::StatusCode::kResourceExhausted, "too many probes"));

  EXPECT_EQ(made.verdict, Verdict::Unchanged);
  const json::object response = response_of(made);
  EXPECT_EQ(response.at("allowed"), true);
  EXPECT_EQ(response.at("warnings").as_array().at(0),
            "HF7101: the probes stay as they are: too many probes");
  EXPECT_THAT(made.reason, HasSubstr("HF7101"));
}

TEST(Review, APodWhoseOriginalsFitNoAnnotationIsLetInAsItIsWithAWarning) {
  json::array headers;
  for (int i = 0; i < 60; ++i) {
    headers.push_back(json::object{{"name", "X"}, {"value", std::string(4000, 'x')}});
  }
  json::value pod = json::parse(
      R"({"metadata":{"name":"a"},"spec":{"containers":[{"name":"web","livenessProbe":
          {"httpGet":{"path":"/","port":8080}}}]}})");
  json::value& probe = pod.at("spec").at("containers").at(0).at("livenessProbe");
  probe.at("httpGet").as_object()["httpHeaders"] = headers;

  const Reviewed made = review(to_bytes({.pod = pod}), {}, translate);

  EXPECT_EQ(made.verdict, Verdict::Unchanged);
  const json::object response = response_of(made);
  EXPECT_EQ(response.at("allowed"), true);
  EXPECT_FALSE(response.contains("patch"));
  EXPECT_THAT(json::serialize(response.at("warnings")), HasSubstr("HF7106: the probes stay"));
}

TEST(Review, AnAnnotationInsteadOfTheLabelIsIgnored) {
  Question question;
  question.pod = json::parse(R"({"metadata":{"annotations":{"holdfast.dev/inject":"disabled"}}})");

  EXPECT_EQ(review(to_bytes(question), {}, annotate_pod).verdict, Verdict::Patched);
}

TEST(Review, OnlyNewPodsAreTranslated) {
  Question update{.operation = "UPDATE"};
  Question part;
  part.more["subResource"] = "ephemeralcontainers";
  Question removal{.operation = "DELETE", .pod = nullptr};
  Question labelled;
  labelled.pod = json::parse(R"({"metadata":{"labels":{"holdfast.dev/inject":"disabled"}}})");
  const struct {
    const char* why;
    Question question;
  } rows[] = {{"not a pod", {.kind = "Deployment"}},
              {"not a new pod", update},
              {"not a new pod", removal},
              {"a part of a pod", part},
              {"a namespace that is skipped", {.name_space = "kube-system"}},
              {"the pod's label", labelled}};
  const ReviewOptions options{.inject = {}, .skipped_namespaces = {"kube-system"}};
  for (const auto& row : rows) {
    const Reviewed made = review(to_bytes(row.question), options, annotate_pod);

    EXPECT_EQ(made.verdict, Verdict::Ignored) << row.why;
    EXPECT_EQ(made.reason, row.why);
    EXPECT_EQ(response_of(made), (json::object{{"allowed", true}, {"uid", "u-1"}})) << row.why;
  }
}

TEST(Review, APodOfAnotherGroupIsNoPod) {
  Question question;
  question.more["kind"] = {{"group", "example.com"}, {"version", "v1"}, {"kind", "Pod"}};

  EXPECT_EQ(review(to_bytes(question), {}, annotate_pod).verdict, Verdict::Ignored);
}

TEST(Review, WhatIsNoReviewIsRefusedWith400InAnAnswerThatCanBeRead) {
  const std::pair<std::string, std::string> rows[] = {
      {"", "the request has no body"},
      {"{", "the request is not JSON"},
      {"apiVersion: v1", "the request is not JSON"},
      {std::string(1000, '['), "the request is not JSON"},
      {"{} {}", "the request is not JSON"},
      {"\xff\xfe", "the request is not JSON"},
      {"[]", "not an AdmissionReview"},
      {"{}", "not an AdmissionReview"},
      {R"({"apiVersion":"v1","kind":"Pod"})", "not an AdmissionReview"},
      {R"({"apiVersion":"admission.k8s.io/v2","kind":"AdmissionReview","request":{"uid":"u"}})",
       "\"admission.k8s.io/v2\""},
      {R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"})", "has no request"},
      {R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":null})",
       "has no request"},
      {R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{}})", "no uid"},
      {R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":7}})",
       "no uid"}};
  for (const auto& [bytes, why] : rows) {
    const Reviewed made = review(bytes, {}, annotate_pod);

    EXPECT_EQ(made.verdict, Verdict::Malformed) << bytes;
    EXPECT_THAT(made.reason, HasSubstr(why)) << bytes;
    EXPECT_THAT(made.reason, testing::StartsWith("HF7150: "));
    const json::object response = response_of(made);
    EXPECT_EQ(response.at("allowed"), false);
    EXPECT_EQ(response.at("uid"), "");
    EXPECT_EQ(response.at("status").at("code"), 400);
    EXPECT_EQ(json::parse(made.body).at("apiVersion"), "admission.k8s.io/v1");
  }
}

TEST(Review, ANewPodWithoutAnObjectIsRefused) {
  for (const json::value& pod : {json::value(nullptr), json::value("pod"), json::value(7)}) {
    const Reviewed made = review(to_bytes({.pod = pod}), {}, annotate_pod);

    EXPECT_EQ(made.verdict, Verdict::Malformed);
    EXPECT_EQ(response_of(made).at("uid"), "u-1");
  }
}

TEST(Review, APodIsNamedByWhatIsKnownOfIt) {
  Question named{.pod = json::parse(R"({"metadata":{"name":"web-1","namespace":"own"}})")};
  Question by_request{.pod = json::parse(R"({"metadata":{}})")};
  by_request.more["name"] = "web-2";

  EXPECT_EQ(review(to_bytes({}), {}, annotate_pod).pod, "shop/web-*");
  EXPECT_EQ(review(to_bytes(named), {}, annotate_pod).pod, "own/web-1");
  EXPECT_EQ(review(to_bytes(by_request), {}, annotate_pod).pod, "shop/web-2");
  EXPECT_EQ(review(to_bytes({.pod = json::object()}), {}, annotate_pod).pod, "shop/?");
  EXPECT_EQ(refuse("x").pod, "");
}

TEST(Review, ADryRunIsTranslatedLikeAnyOther) {
  Question question;
  question.more["dryRun"] = true;

  const Reviewed made = review(to_bytes(question), {}, annotate_pod);

  EXPECT_TRUE(made.dry_run);
  EXPECT_EQ(made.verdict, Verdict::Patched);
  EXPECT_FALSE(review(to_bytes({}), {}, annotate_pod).dry_run);
}

TEST(Review, WarningsAreOfASizeThatApiServersShow) {
  std::vector<std::string> many(40, "a\nb\x01");
  many[0] = std::string(300, 'x');
  many[1] = std::string(248, 'x') + "\u20ac\u20ac";

  const Reviewed made = review(to_bytes({}), {}, warning(many));

  const json::object response = response_of(made);
  const json::array& shown = response.at("warnings").as_array();
  ASSERT_EQ(shown.size(), kMaxWarnings);
  EXPECT_EQ(made.warnings, kMaxWarnings);
  EXPECT_EQ(shown[0].as_string(), "W0: " + std::string(249, 'x') + "...");
  EXPECT_EQ(shown[1].as_string(), "W1: " + std::string(248, 'x') + "...");
  EXPECT_EQ(shown[kMaxWarnings - 1], "and 25 more");
  for (const json::value& one : shown) {
    EXPECT_EQ(one.as_string().find('\n'), json::string::npos);
    EXPECT_EQ(one.as_string().find('\x01'), json::string::npos);
  }
}

TEST(Review, ExactlyAsManyWarningsAsAreShownAreShown) {
  const Reviewed made = review(to_bytes({}), {}, warning(std::vector<std::string>(16, "same")));

  const json::object response = response_of(made);
  const json::array& shown = response.at("warnings").as_array();
  ASSERT_EQ(shown.size(), 16U);
  EXPECT_EQ(shown[15], "W15: same");
}

TEST(Review, ManyWarningsOfAKindLeaveRoomForOthers) {
  std::vector<std::string> many(40 * 50, "same");

  const Reviewed made = review(to_bytes({}), {}, warning(many));

  const json::object response = response_of(made);
  EXPECT_EQ(response.at("warnings").as_array().size(), kMaxWarnings);
  many.resize(41);
  EXPECT_EQ(review(to_bytes({}), {}, warning(many)).warnings, kMaxWarnings);
}

TEST(Review, TheTranslationGetsTheObjectAndTheOptions) {
  ReviewOptions options;
  options.inject.port = 19000;
  json::value seen;
  uint16_t port = 0;
  const Translate spy = [&](const json::value& pod, const InjectOptions& given) {
    seen = pod;
    port = given.port;
    return annotate_pod(pod, given);
  };
  Question question{
      .pod = json::parse(R"({"apiVersion":"v1","kind":"Pod","spec":{"a":[1,2.50,{"x":null}]}})")};

  review(to_bytes(question), options, spy);

  EXPECT_EQ(seen, question.pod);
  EXPECT_EQ(port, 19000);
}

TEST(Review, AnObjectWithoutAKindIsOfTheKindThatTheRequestNames) {
  json::value seen;
  const Translate spy = [&](const json::value& pod, const InjectOptions& given) {
    seen = pod;
    return annotate_pod(pod, given);
  };

  review(to_bytes({.pod = json::parse(R"({"spec":{}})")}), {}, spy);

  EXPECT_EQ(seen, json::parse(R"({"apiVersion":"v1","kind":"Pod","spec":{}})"));
}

TEST(ReviewTimeout, IsReadAsGoWritesIt) {
  const std::pair<const char*, Duration> rows[] = {
      {"2s", seconds(2)},           {"10s", seconds(10)},         {"300ms", milliseconds(300)},
      {"1.5s", milliseconds(1500)}, {"0.25s", milliseconds(250)}, {"1s500ms", milliseconds(1500)},
      {"0m2s", seconds(2)},         {"5us", Duration(5000)},      {"5\u00b5s", Duration(5000)},
      {"7ns", Duration(7)}};
  for (const auto& [text, expected] : rows) {
    EXPECT_EQ(review_timeout(text, seconds(9), seconds(30)), expected) << text;
  }
}

TEST(ReviewTimeout, IsTheUsualOneIfItCannotBeReadAndNeverMoreThanTheMost) {
  for (const char* text :
       {"", "2", "s", "-2s", "2x", "2 s", "1..2s", "0s", "nan", "1e3s", "0.1ns"}) {
    EXPECT_EQ(review_timeout(text, seconds(9), seconds(30)), seconds(9)) << text;
  }
  EXPECT_EQ(review_timeout(std::string(100, '9') + "s", seconds(9), seconds(30)), seconds(9));
  for (const char* text : {"31s", "1h", "1m0s", "99999999999999999999999h"}) {
    EXPECT_EQ(review_timeout(text, seconds(9), seconds(30)), seconds(30)) << text;
  }
}

TEST(ReviewContentType, IsJsonWithOrWithoutParameters) {
  for (const char* good : {"application/json", "application/json; charset=utf-8",
                           "Application/JSON ", "application/json;charset=utf-8"}) {
    EXPECT_TRUE(is_json(good)) << good;
  }
  for (const char* bad : {"", "text/json", "application/yaml", "application/json+x",
                          "application/json, text/plain", "application/vnd.kubernetes.protobuf"}) {
    EXPECT_FALSE(is_json(bad)) << bad;
  }
}

}  // namespace
}  // namespace holdfast::inject
