// The registry's JSON: what it takes, what it says about what it does not, and that it writes what
// it reads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/reason.h"
#include "probe/registry.h"

namespace holdfast::probe {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr std::string_view kFull =
    R"([{"httpGet":{"path":"/a?b","port":1,"scheme":"HTTPS","host":"db.local",)"
    R"("httpHeaders":[{"name":"Host","value":"x"},{"name":"A","value":""}]},"timeoutSeconds":30},)"
    R"({"httpGet":{"path":"/h","port":2,"protocol":"HTTP2"}},)"
    R"({"tcpSocket":{"port":3,"host":"::1"}},)"
    R"({"grpc":{"port":4,"service":"/startup","mode":"TLS","host":"10.0.0.9"}},)"
    R"({"httpGet":{"path":"/stop","port":65535},"hook":true}])";

std::string refusal(std::string_view text) {
  const Result<Registry> parsed = Registry::parse(text);
  if (parsed.ok()) return "taken";
  EXPECT_TRUE(absl::IsInvalidArgument(parsed.status())) << parsed.status();
  EXPECT_EQ(split_reason(parsed.status()).code, "HF7010");
  return std::string(split_reason(parsed.status()).message);
}

TEST(RegistryJson, TheSeedsOwnListIsRead) {
  const Result<Registry> parsed = Registry::parse(
      R"([{"httpGet":{"path":"/healthz","port":6852}},)"
      R"({"grpc":{"port":3636,"service":"liveness"}},{"tcpSocket":{"port":6826}}])");

  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_NE(parsed->find("/6852/healthz"), nullptr);
  EXPECT_NE(parsed->find("/grpc/3636/liveness"), nullptr);
  EXPECT_NE(parsed->find("/tcp/6826"), nullptr);
  EXPECT_EQ(parsed->probes().size(), 3);
}

TEST(RegistryJson, EveryFieldIsReadAndWrittenAgain) {
  const Result<Registry> parsed = Registry::parse(kFull);
  ASSERT_TRUE(parsed.ok()) << parsed.status();

  const Probe& first = parsed->probes()[0];
  EXPECT_EQ(
      first,
      (Probe{.action = HttpGet{.path = "/a?b", .tls = true, .headers = {{"Host", "x"}, {"A", ""}}},
             .port = 1,
             .host = "db.local",
             .timeout = 30s}));
  EXPECT_TRUE(std::get<HttpGet>(parsed->probes()[1].action).h2c);
  EXPECT_EQ(parsed->probes()[2].host, "::1");
  EXPECT_EQ(std::get<Grpc>(parsed->probes()[3].action), (Grpc{.service = "/startup", .tls = true}));
  EXPECT_EQ(parsed->probes()[3].host, "10.0.0.9");
  EXPECT_TRUE(parsed->probes()[4].hook);
  EXPECT_EQ(Registry::parse(parsed->to_json())->probes(), parsed->probes());
}

TEST(RegistryJson, WhatIsDefaultIsNotWritten) {
  const Result<Registry> parsed = Registry::parse(
      R"([ {"httpGet": {"port": 80, "path": "", "scheme": "HTTP", "httpHeaders": null, "host": "",
             "protocol": "HTTP1"}, "timeoutSeconds": 0, "hook": false},
           {"grpc": {"port": 81, "service": "", "mode": "Plaintext"}, "timeoutSeconds": 1} ])");

  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->to_json(), R"([{"httpGet":{"path":"/","port":80}},{"grpc":{"port":81}}])");
  EXPECT_EQ(parsed->probes()[0].timeout, 1s);
  EXPECT_EQ(Registry().to_json(), "[]");
}

TEST(RegistryJson, PortsAreNumbersThatAreOnes) {
  for (const char* port : {"0", "-1", "65536", "99999999999999999999", "1.5", "\"80\"", "\"http\"",
                           "null", "true", "[]"}) {
    const std::string text = R"([{"tcpSocket":{"port":)" + std::string(port) + "}}]";
    EXPECT_EQ(refusal(text), "probes[0].tcpSocket.port: is no number in 1..65535") << port;
  }
  EXPECT_EQ(refusal(R"([{"tcpSocket":{}}])"), "probes[0].tcpSocket.port: is missing");
}

TEST(RegistryJson, ARefusalSaysWhere) {
  EXPECT_THAT(refusal(""), HasSubstr("no JSON"));
  EXPECT_THAT(refusal("[}"), HasSubstr("no JSON"));
  EXPECT_THAT(refusal("[] []"), HasSubstr("no JSON"));
  EXPECT_EQ(refusal("{}"), "probes: is no list");
  EXPECT_EQ(refusal("[1]"), "probes[0]: is no object");
  EXPECT_THAT(refusal(R"([{}])"), HasSubstr("probes[0]: has not exactly one of"));
  EXPECT_THAT(refusal(R"([{"tcpSocket":{"port":1},"grpc":{"port":1}}])"), HasSubstr("exactly one"));
  EXPECT_EQ(refusal(R"([{"tcpSocket":{"port":1}},{"exec":{}}])"),
            R"(probes[1]: "exec" is no field of it)");
  EXPECT_EQ(refusal(R"([{"httpGet":{"port":1,"Path":"/"}}])"),
            R"(probes[0].httpGet: "Path" is no field of it)");
  EXPECT_EQ(refusal(R"([{"httpGet":{"port":1,"scheme":"FTP"}}])"),
            R"(probes[0].httpGet.scheme: "FTP" is not one of HTTP, HTTPS)");
  EXPECT_EQ(refusal(R"([{"httpGet":{"port":1,"httpHeaders":[{"name":"a b"}]}}])"),
            R"(probes[0].httpGet.httpHeaders[0].name: "a b" is no name of a header)");
  EXPECT_EQ(refusal(R"([{"httpGet":{"port":1,"httpHeaders":[{"name":"a","value":"\n"}]}}])"),
            "probes[0].httpGet.httpHeaders[0].value: holds a control character");
  EXPECT_EQ(refusal(R"([{"tcpSocket":{"port":1},"timeoutSeconds":-1}])"),
            "probes[0].timeoutSeconds: is no number of seconds");
  EXPECT_EQ(refusal(R"([{"httpGet":{"port":1},"hook":true,"timeoutSeconds":3}])"),
            "probes[0].timeoutSeconds: a hook has none");
  EXPECT_EQ(refusal(R"([{"grpc":{"port":1},"hook":true}])"),
            "probes[0].hook: only an httpGet can be one");
}

TEST(RegistryJson, WhatIsNoJsonIsShownWithItsPlace) {
  EXPECT_EQ(refusal("[\n  {\"tcpSocket\": {\"port\" 80}}\n]"),
            "probes: no JSON: line 2, column 25: expected ':' after the key, at \"80}}\"");
  EXPECT_EQ(refusal(R"([{"tcpSocket":{"port":80}},])"),
            "probes: no JSON: line 1, column 28: expected a value: an object, a list, a string in "
            "double quotes, or a number, at \"]\"");
  EXPECT_EQ(refusal(R"([{"tcpSocket":{"port":80}})"),
            "probes: no JSON: line 1, column 27: expected ',' or ']', at the end of the line");
  EXPECT_EQ(refusal("[{'tcpSocket':{'port':80}},{'tcpSocket':{'port':81}}]"),
            "probes: no JSON: line 1, column 3: expected a key in double quotes, at "
            "\"'tcpSocket':{'port':80}}…\"");
  EXPECT_THAT(refusal("[{\"grpc\":\n\xff}]"),
              HasSubstr("line 2, column 1: byte 0xff is not UTF-8"));
}

TEST(RegistryJson, AKeyThatIsGivenTwiceIsRefusedByName) {
  EXPECT_EQ(refusal(R"([{"tcpSocket":{"port":80,"port":81}}])"),
            "probes: line 1, column 26: the key \"port\" is given twice; keep one, at "
            "\"\\\"port\\\":81}}]\"");
  EXPECT_THAT(refusal(R"([{"tcpSocket":{"port":80},"tcpSocket":{"port":81}}])"),
              HasSubstr("the key \"tcpSocket\" is given twice"));
}

TEST(RegistryJson, LimitsHold) {
  EXPECT_THAT(refusal(std::string(kMaxRegistryBytes + 1, ' ')), HasSubstr("longer than"));
  EXPECT_THAT(refusal(std::string(100, '[')), HasSubstr("nested more than 8 levels"));
  std::string many = "[";
  for (size_t i = 0; i <= kMaxProbes; ++i) {
    many += R"({"tcpSocket":{"port":)" + std::to_string(i + 1) + "}},";
  }
  many.back() = ']';
  EXPECT_EQ(split_reason(Registry::parse(many).status()).code, "HF7011");
}

}  // namespace
}  // namespace holdfast::probe
