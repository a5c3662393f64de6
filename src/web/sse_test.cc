#include "web/sse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "resource/codec.h"
#include "resource/registry.h"

namespace holdfast::web {
namespace {

v1::Event event_of(v1::EventType type, std::string_view name, int64_t revision) {
  v1::Event event;
  event.set_type(type);
  event.set_revision(revision);
  *event.mutable_resource() = resource::make_resource(resource::Kind::Service, name);
  return event;
}

TEST(Sse, InitSaysWhatWillBeSeen) {
  v1::WatchResponse response;
  v1::Event& init = *response.add_events();
  init.set_revision(5);
  init.mutable_status()->add_kinds()->set_kind("service");

  EXPECT_EQ(format_events(response),
            "event: init\ndata: {\"revision\":5,\"kinds\":[{\"kind\":\"service\"}]}\nid: 5\n\n");
}

TEST(Sse, APutIsTheResourceOnOneLine) {
  v1::WatchResponse response;
  *response.add_events() = event_of(v1::EVENT_TYPE_PUT, "web", 7);
  response.mutable_events(0)->mutable_resource()->mutable_metadata()->set_description("a\nb\r\nc");

  const std::string text = format_events(response);

  EXPECT_EQ(text, "event: put\ndata: " + resource::to_json(response.events(0).resource()) +
                      "\nid: 7\n\n");
  EXPECT_EQ(std::ranges::count(text, '\n'), 4);
  EXPECT_EQ(std::ranges::count(text, '\r'), 0);
}

TEST(Sse, ADeleteSaysWhatAndWhen) {
  v1::WatchResponse response;
  v1::Event& event = *response.add_events();
  event.set_type(v1::EVENT_TYPE_DELETE);
  event.set_revision(8);
  event.mutable_resource()->set_kind("service");
  event.mutable_resource()->mutable_metadata()->set_name("web");

  const std::string text = format_events(response);

  EXPECT_THAT(text, testing::StartsWith("event: delete\n"));
  EXPECT_THAT(text, testing::HasSubstr("\"kind\":\"service\""));
  EXPECT_THAT(text, testing::HasSubstr("\"name\":\"web\""));
  EXPECT_THAT(text, testing::HasSubstr("\"revision\":8"));
}

TEST(Sse, OnlyTheLastEventOfARevisionMovesTheReaderOn) {
  v1::WatchResponse response;
  *response.add_events() = event_of(v1::EVENT_TYPE_PUT, "a", 7);
  *response.add_events() = event_of(v1::EVENT_TYPE_PUT, "b", 7);
  *response.add_events() = event_of(v1::EVENT_TYPE_PUT, "c", 8);

  const std::string text = format_events(response);

  EXPECT_EQ(text.find("id: 7\n"), text.rfind("id: 7\n"));
  EXPECT_GT(text.find("id: 7\n"), text.find("\"b\""));
  EXPECT_LT(text.find("id: 7\n"), text.find("\"c\""));
  EXPECT_TRUE(text.ends_with("id: 8\n\n"));
}

TEST(Sse, TheEndSaysWhy) {
  EXPECT_EQ(format_end(absl::ResourceExhaustedError("too slow")),
            "event: end\ndata: {\"error\":{\"code\":\"HF1020\",\"message\":\"too slow\"}}\n\n");
}

}  // namespace
}  // namespace holdfast::web
