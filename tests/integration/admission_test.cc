// The table of what an API server makes of answers, so that the other tests may rely on it.
#include "admission.h"

#include <absl/strings/escaping.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "json_patch.h"

namespace holdfast::test {
namespace {

namespace json = boost::json;

json::value pod() {
  return json::parse(R"({"metadata":{"name":"web"},"spec":{"containers":[{"name":"app"}]}})");
}

std::string base64(const std::string& text) {
  return absl::Base64Escape(text);
}

json::object response(json::object more = {}) {
  json::object out{{"uid", "u-1"}, {"allowed", true}};
  for (const auto& [key, value] : more) out[key] = value;
  return out;
}

std::string review(json::object response, const char* version = "admission.k8s.io/v1") {
  return json::serialize(json::object{
      {"apiVersion", version}, {"kind", "AdmissionReview"}, {"response", std::move(response)}});
}

json::object patched(const std::string& patch) {
  return response({{"patchType", "JSONPatch"}, {"patch", base64(patch)}});
}

Admission under(FailurePolicy policy, const Result<net::HttpAnswer>& answer) {
  return admit({.uid = "u-1", .pod = pod(), .policy = policy}, answer);
}

struct Row {
  const char* what;
  Result<net::HttpAnswer> answer;
  int with_fail;
  int with_ignore;
};

net::HttpAnswer ok(std::string body) {
  return {.status = 200, .body = std::move(body)};
}

TEST(Admission, EveryAnswerIsTakenAsARealApiServerTakesIt) {
  json::object wrong_uid = response();
  wrong_uid["uid"] = "u-2";
  const std::string label = R"([{"op":"add","path":"/metadata/labels","value":{"a":"b"}}])";
  const std::string port_0 =
      R"([{"op":"add","path":"/spec/containers/0/livenessProbe","value":{"httpGet":{"port":0}}}])";
  const Row rows[] = {
      {"patch and patchType", ok(review(patched(label))), 201, 201},
      {"allowed only", ok(review(response())), 201, 201},
      {"an empty patch with its type", ok(review(patched("[]"))), 201, 201},
      {"patch without patchType", ok(review(response({{"patch", base64(label)}}))), 500, 201},
      {"patchType without patch", ok(review(response({{"patchType", "JSONPatch"}}))), 500, 201},
      {"wrong uid", ok(review(wrong_uid)), 500, 201},
      {"no apiVersion and kind", ok(json::serialize(json::object{{"response", response()}})), 500,
       201},
      {"a v1beta1 reply", ok(review(response(), "admission.k8s.io/v1beta1")), 500, 201},
      {"HTTP 500", net::HttpAnswer{.status = 500}, 500, 201},
      {"too slow", absl::DeadlineExceededError("2s"), 500, 201},
      {"no connection", absl::UnavailableError("refused"), 500, 201},
      {"not JSON", ok("<html>"), 500, 201},
      {"removes what is not there",
       ok(review(patched(R"([{"op":"remove","path":"/metadata/labels"}])"))), 500, 500},
      {"adds under a missing parent",
       ok(review(patched(R"([{"op":"add","path":"/metadata/labels/a","value":"b"}])"))), 500, 500},
      {"an undecodable patch", ok(review(patched("{not json"))), 500, 500},
      {"a patched object of a wrong type",
       ok(review(patched(R"([{"op":"add","path":"/metadata/labels","value":7}])"))), 500, 500},
      {"an invalid pod", ok(review(patched(port_0))), 422, 422},
      {"denied with 400",
       ok(review({{"uid", "u-1"}, {"allowed", false}, {"status", {{"code", 400}}}})), 400, 400},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(under(FailurePolicy::Fail, row.answer).code, row.with_fail) << row.what;
    const Admission ignored = under(FailurePolicy::Ignore, row.answer);
    EXPECT_EQ(ignored.code, row.with_ignore) << row.what;
    const bool uninjected = row.with_fail == 500 && row.with_ignore == 201;
    EXPECT_EQ(ignored.webhook_failed, uninjected) << row.what;
    if (uninjected) EXPECT_EQ(ignored.pod, pod()) << row.what;
  }
}

TEST(Admission, APatchIsAppliedAndWarningsReachTheClient) {
  json::object answer = patched(R"([{"op":"add","path":"/metadata/labels","value":{"a":"b"}}])");
  answer["warnings"] = {"one", "two"};

  const Admission made = under(FailurePolicy::Fail, ok(review(answer)));

  EXPECT_EQ(made.pod.at("metadata").at("labels").at("a"), "b");
  EXPECT_EQ(made.warnings, (std::vector<std::string>{"one", "two"}));
}

TEST(JsonPatch, AppliesWhatRfc6902Says) {
  const struct {
    const char* before;
    const char* patch;
    const char* after;  // empty: refused
  } rows[] = {
      {R"({"a":1})", R"([{"op":"add","path":"/b","value":2}])", R"({"a":1,"b":2})"},
      {R"({"a":[1,3]})", R"([{"op":"add","path":"/a/1","value":2}])", R"({"a":[1,2,3]})"},
      {R"({"a":[1]})", R"([{"op":"add","path":"/a/-","value":2}])", R"({"a":[1,2]})"},
      {R"({"a/b~c":1})", R"([{"op":"replace","path":"/a~1b~0c","value":2}])", R"({"a/b~c":2})"},
      {R"({"a":[1,2]})", R"([{"op":"remove","path":"/a/0"}])", R"({"a":[2]})"},
      {R"({"a":1})", R"([{"op":"test","path":"/a","value":1}])", R"({"a":1})"},
      {R"({"a":1})", R"([{"op":"test","path":"/a","value":2}])", ""},
      {R"({"a":1})", R"([{"op":"replace","path":"/b","value":2}])", ""},
      {R"({"a":[1]})", R"([{"op":"add","path":"/a/2","value":2}])", ""},
      {R"({"a":[1]})", R"([{"op":"add","path":"/a/01","value":2}])", ""},
      {R"({"a":1})", R"([{"op":"add","path":"/a/b","value":2}])", ""},
      {R"({"a":1})", R"([{"op":"add","path":"b","value":2}])", ""},
      {R"({"a":1})", R"([{"op":"add","path":"/b"}])", ""},
      {R"({"a":1})", R"({"op":"add"})", ""},
  };
  for (const auto& row : rows) {
    const Result<json::value> after = apply_patch(json::parse(row.before), json::parse(row.patch));
    EXPECT_EQ(after.ok() ? json::serialize(*after) : "", row.after) << row.patch;
  }
}

}  // namespace
}  // namespace holdfast::test
