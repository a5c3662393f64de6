#include "web/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/reason.h"
#include "web/answer.h"

namespace holdfast::web {
namespace {

using testing::HasSubstr;

const Route kWeb{.endpoint = Endpoint::Put, .kind = "service", .name = "web"};
const Route kServices{.endpoint = Endpoint::List, .kind = "service"};

net::HttpRequest asking(std::string_view target) {
  net::HttpRequest request;
  request.target = net::parse_target(target).value();
  return request;
}

net::HttpRequest writing(std::string body, std::string if_match = {}) {
  net::HttpRequest request;
  request.body = std::move(body);
  request.headers["content-type"] = "application/json";
  if (!if_match.empty()) request.headers["if-match"] = std::move(if_match);
  return request;
}

constexpr const char* kBody = R"({"kind":"service","metadata":{"name":"web"},"spec":{}})";

TEST(Request, AListTakesPagesAndLabels) {
  const auto list =
      list_request(kServices, asking("/v1/service?page_size=5&page_token=t&label=a=1&label=b="));

  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->page_size(), 5u);
  EXPECT_EQ(list->page_token(), "t");
  EXPECT_EQ(list->labels().at("a"), "1");
  EXPECT_EQ(list->labels().at("b"), "");
}

TEST(Request, AWrongQueryIsRefusedByName) {
  for (const char* query : {"page_size=-1", "page_size=x", "page_size=5000000000", "label=a",
                            "label==1", "label=a=1&label=a=2", "pagesize=1", "with_secrets=1"}) {
    const auto list = list_request(kServices, asking(std::string("/v1/service?") + query));
    EXPECT_TRUE(absl::IsInvalidArgument(list.status())) << query;
  }
}

TEST(Request, ADeleteMayNameTheRevision) {
  EXPECT_EQ(delete_request(kWeb, asking("/v1/service/web"))->revision(), 0);
  EXPECT_EQ(delete_request(kWeb, asking("/v1/service/web?revision=7"))->revision(), 7);
  EXPECT_EQ(delete_request(kWeb, writing("", "\"8\""))->revision(), 8);
  EXPECT_FALSE(delete_request(kWeb, asking("/v1/service/web?revision=-7")).ok());
}

TEST(Request, AnIdempotencyKeyIsTheIdOfAWrite) {
  net::HttpRequest bare = writing(kBody);
  EXPECT_EQ(write_request(kWeb, bare)->request.request_id(), "");
  bare.headers["idempotency-key"] = "0123456789abcdef";
  net::HttpRequest quoted = writing(kBody);
  quoted.headers["idempotency-key"] = "\"0123456789abcdef\"";

  EXPECT_EQ(write_request(kWeb, bare)->request.request_id(), "0123456789abcdef");
  EXPECT_EQ(write_request(kWeb, quoted)->request.request_id(), "0123456789abcdef");
  quoted.target = net::parse_target("/v1/service/web").value();
  EXPECT_EQ(delete_request(kWeb, quoted)->request_id(), "0123456789abcdef");
}

TEST(Request, AnIdempotencyKeyThatIsNoneIsRefusedByItsName) {
  for (const std::string& key :
       {std::string(), std::string("\"\""), std::string("\""), std::string(15, 'a'),
        std::string(65, 'a'), std::string("0123456789 abcdef"), std::string("0123456789abcdef\""),
        std::string("0123456789abcdef, 0123456789abcdef"),
        std::string("\"0123456789abcdef\", \"0123456789abcdef\"")}) {
    net::HttpRequest request = writing(kBody);
    request.headers["idempotency-key"] = key;
    request.target = net::parse_target("/v1/service/web").value();
    const Status put = write_request(kWeb, request).status();
    const Status removal = delete_request(kWeb, request).status();

    EXPECT_EQ(http_status(put), 400) << key;
    EXPECT_EQ(http_status(removal), 400) << key;
    EXPECT_THAT(std::string(put.message()), HasSubstr("Idempotency-Key: ")) << key;
    EXPECT_EQ(removal, put) << key;
  }
}

TEST(Request, AWatchNamesItsKindsAndResumesWhereTheReaderWas) {
  net::HttpRequest request =
      asking("/v1/watch?kind=svc&kind=unheard-of&label=a=1&after=5&partial=1");
  const auto first = watch_request(request);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->kinds(0).kind(), "service");
  EXPECT_EQ(first->kinds(0).labels().at("a"), "1");
  EXPECT_EQ(first->kinds(1).kind(), "unheard-of");
  EXPECT_EQ(first->after_revision(), 5);
  EXPECT_TRUE(first->allow_partial_success());

  request.headers["last-event-id"] = "9";
  EXPECT_EQ(watch_request(request)->after_revision(), 9);
  request.headers["last-event-id"] = "x";
  EXPECT_FALSE(watch_request(request).ok());
  EXPECT_FALSE(watch_request(asking("/v1/watch?kind=svc&partial=maybe")).ok());
  EXPECT_FALSE(watch_request(asking("/v1/watch?kind=svc&with_secrets=1")).ok());
}

TEST(Request, AWriteIsOfThePathsKindAndName) {
  const auto write = write_request(kWeb, writing(kBody));
  ASSERT_TRUE(write.ok()) << write.status();
  EXPECT_FALSE(write->must_exist);
  EXPECT_EQ(write->request.resource().metadata().name(), "web");

  EXPECT_FALSE(write_request({.kind = "agent", .name = "web"}, writing(kBody)).ok());
  EXPECT_FALSE(write_request({.kind = "service", .name = "other"}, writing(kBody)).ok());
}

TEST(Request, ARevisionMakesAWriteAnUpdate) {
  const std::string with_revision =
      R"({"kind":"service","metadata":{"name":"web","revision":7},"spec":{}})";

  const auto matched = write_request(kWeb, writing(kBody, "7"));
  ASSERT_TRUE(matched.ok()) << matched.status();
  EXPECT_TRUE(matched->must_exist);
  EXPECT_EQ(matched->request.resource().metadata().revision(), 7);
  EXPECT_TRUE(write_request(kWeb, writing(kBody, "*"))->must_exist);
  const auto in_body = write_request(kWeb, writing(with_revision));
  ASSERT_TRUE(in_body.ok()) << in_body.status();
  EXPECT_TRUE(in_body->must_exist);
  EXPECT_FALSE(write_request(kWeb, writing(with_revision, "8")).ok());
  EXPECT_FALSE(write_request(kWeb, writing(kBody, "seven")).ok());
}

TEST(Request, AnUnreadableBodySaysWhereAndWhy) {
  const auto write = write_request(kWeb, writing(R"({"kind":"service","metdata":{}})"));

  EXPECT_EQ(split_reason(write.status()).code, "HF6004");
  EXPECT_THAT(std::string(write.status().message()), HasSubstr("1:"));
  EXPECT_FALSE(write_request(kWeb, writing("")).ok());
}

TEST(Request, ABodyWithTooMuchInItIs413) {
  const auto write = write_request(kWeb, writing(std::string(100, '[')));

  EXPECT_EQ(http_status(write.status()), 413);
}

TEST(Request, YamlIsReadIfItSaysSo) {
  net::HttpRequest request = writing("kind: service\nmetadata: {name: web}\nspec: {}\n");
  EXPECT_FALSE(write_request(kWeb, request).ok());

  request.headers["content-type"] = "application/yaml; charset=utf-8";
  EXPECT_TRUE(write_request(kWeb, request).ok());
}

TEST(Request, FormsThatABrowserSendsUnaskedAreNotRead) {
  EXPECT_TRUE(is_readable_type("application/json"));
  EXPECT_TRUE(is_readable_type("application/json; charset=utf-8"));
  for (const char* type : {"", "text/plain", "application/x-www-form-urlencoded",
                           "multipart/form-data", "text/plain; application/json"}) {
    EXPECT_FALSE(is_readable_type(type)) << type;
  }
}

}  // namespace
}  // namespace holdfast::web
