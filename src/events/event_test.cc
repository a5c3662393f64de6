#include "events/event.h"

#include <gtest/gtest.h>

namespace holdfast::events {
namespace {

v1::Resource token(std::string name) {
  v1::Resource resource;
  resource.set_kind("token");
  resource.mutable_metadata()->set_name(std::move(name));
  (*resource.mutable_metadata()->mutable_labels())["site"] = "a";
  resource.mutable_token()->set_hash("secret");
  return resource;
}

v1::Event decode(std::string_view bytes) {
  v1::WatchResponse response;
  EXPECT_TRUE(response.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
  EXPECT_EQ(response.events_size(), 1);
  return response.events_size() == 1 ? response.events(0) : v1::Event();
}

WatchKind tokens() {
  return {.kind = "token", .name = {}, .labels = {}, .with_secrets = false};
}

TEST(Event, PutCarriesTheResourceAndItsRevision) {
  const Event event = make_put(token("t"), nullptr, 7);

  const v1::Event decoded = decode(view_of(event, tokens()));

  EXPECT_EQ(decoded.type(), v1::EVENT_TYPE_PUT);
  EXPECT_EQ(decoded.revision(), 7);
  EXPECT_EQ(decoded.resource().metadata().revision(), 7);
  EXPECT_EQ(decoded.resource().metadata().name(), "t");
}

TEST(Event, SecretsAreSeenOnlyByThoseWhoAskedForThem) {
  const v1::Resource whole = token("t");
  v1::Resource visible = whole;
  visible.mutable_token()->clear_hash();
  const Event event = make_put(whole, &visible, 7);
  WatchKind with_secrets = tokens();
  with_secrets.with_secrets = true;

  EXPECT_EQ(decode(view_of(event, tokens())).resource().token().hash(), "");
  EXPECT_EQ(decode(view_of(event, with_secrets)).resource().token().hash(), "secret");
}

TEST(Event, DeleteCarriesOnlyAHeader) {
  const v1::Event decoded = decode(view_of(make_delete("token", "t", 8), tokens()));

  EXPECT_EQ(decoded.type(), v1::EVENT_TYPE_DELETE);
  EXPECT_EQ(decoded.resource().kind(), "token");
  EXPECT_EQ(decoded.resource().metadata().name(), "t");
  EXPECT_EQ(decoded.resource().body_case(), v1::Resource::BODY_NOT_SET);
}

TEST(Event, OtherKindsAndNamesAreNotSeen) {
  const Event event = make_put(token("t"), nullptr, 7);
  WatchKind other_name = tokens();
  other_name.name = "u";
  WatchKind other_kind = tokens();
  other_kind.kind = "user";

  EXPECT_TRUE(view_of(event, other_name).empty());
  EXPECT_TRUE(view_of(event, other_kind).empty());
}

TEST(Event, AResourceThatStopsMatchingItsLabelsIsSeenAsDeleted) {
  const Event event = make_put(token("t"), nullptr, 7);
  WatchKind matching = tokens(), elsewhere = tokens();
  matching.labels = {{"site", "a"}};
  elsewhere.labels = {{"site", "b"}};

  EXPECT_EQ(decode(view_of(event, matching)).type(), v1::EVENT_TYPE_PUT);
  EXPECT_EQ(decode(view_of(event, elsewhere)).type(), v1::EVENT_TYPE_DELETE);
}

TEST(Event, InitListsTheConfirmedKinds) {
  const v1::Event decoded = decode(encode_init({tokens()}, 5));

  EXPECT_EQ(decoded.type(), v1::EVENT_TYPE_INIT);
  EXPECT_EQ(decoded.revision(), 5);
  ASSERT_EQ(decoded.status().kinds_size(), 1);
  EXPECT_EQ(decoded.status().kinds(0).kind(), "token");
}

}  // namespace
}  // namespace holdfast::events
