#include "events/watch_request.h"

#include <gtest/gtest.h>

namespace holdfast::events {
namespace {

WatchKind kind(std::string name) {
  return {.kind = std::move(name), .name = {}, .labels = {}, .with_secrets = false};
}

Status refuse_all_but_service(const WatchKind& asked) {
  if (asked.kind == "service") return absl::OkStatus();
  return absl::PermissionDeniedError("no " + asked.kind);
}

TEST(Narrow, StrictFailsWithTheOriginalErrorOfTheFirstKindRefused) {
  const WatchRequest request{.kinds = {kind("service"), kind("token"), kind("user")}};

  const auto left = narrow(request, refuse_all_but_service);

  EXPECT_EQ(left.status(), absl::PermissionDeniedError("no token"));
}

TEST(Narrow, PartialSuccessKeepsTheSurvivorsInOrder) {
  const WatchRequest request{.kinds = {kind("token"), kind("service"), kind("user")},
                             .allow_partial_success = true};

  const auto left = narrow(request, refuse_all_but_service);

  ASSERT_TRUE(left.ok());
  EXPECT_EQ(*left, std::vector{kind("service")});
  EXPECT_EQ(request.kinds.size(), 3u);  // the caller's list is its own
}

TEST(Narrow, PartialSuccessWithNothingLeftIsAnError) {
  const WatchRequest request{.kinds = {kind("token")}, .allow_partial_success = true};

  EXPECT_EQ(narrow(request, refuse_all_but_service).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(Narrow, WatchingNothingInParticularIsAnError) {
  for (const bool partial : {false, true}) {
    const WatchRequest request{.kinds = {}, .allow_partial_success = partial};
    EXPECT_EQ(narrow(request, refuse_all_but_service).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST(Contains, AConfirmedKindMustNotBeNarrowerThanTheRequest) {
  const WatchKind all = kind("service");
  WatchKind named = all, labelled = all, secret = all;
  named.name = "web";
  labelled.labels = {{"tier", "front"}};
  secret.with_secrets = true;

  EXPECT_TRUE(contains(all, named));
  EXPECT_FALSE(contains(named, all));
  EXPECT_TRUE(contains(named, named));
  EXPECT_TRUE(contains(all, labelled));
  EXPECT_FALSE(contains(labelled, all));
  EXPECT_TRUE(contains(secret, all));
  EXPECT_FALSE(contains(all, secret));
  EXPECT_FALSE(contains(all, kind("agent")));
  EXPECT_FALSE(contains(std::vector<WatchKind>{}, all));
}

TEST(ConfirmedBy, AnOldServerThatListsNothingConfirmsEverything) {
  v1::Event init;
  init.set_type(v1::EVENT_TYPE_INIT);

  EXPECT_EQ(*confirmed_by(init, {kind("service")}), std::vector{kind("service")});
}

TEST(ConfirmedBy, ANewServerConfirmsWhatItLists) {
  v1::Event init;
  init.mutable_status()->add_kinds()->set_kind("agent");

  EXPECT_EQ(*confirmed_by(init, {kind("service"), kind("agent")}), std::vector{kind("agent")});
}

TEST(ConfirmedBy, AnythingButInitFirstIsAnError) {
  v1::Event put;
  put.set_type(v1::EVENT_TYPE_PUT);

  EXPECT_EQ(confirmed_by(put, {}).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(FromProto, RefusesWhatIsOverItsLimitsAndNamesThePlace) {
  v1::WatchRequest request;
  request.add_kinds()->set_kind("service");
  request.add_kinds()->set_kind(std::string(1000, 'x'));

  const auto parsed = from_proto(request, {});

  EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(parsed.status().message().find("kinds[1].kind"), std::string::npos);

  v1::WatchRequest many;
  for (int i = 0; i < 65; ++i) many.add_kinds()->set_kind("service");
  EXPECT_FALSE(from_proto(many, {}).ok());

  v1::WatchRequest negative;
  negative.set_after_revision(-1);
  EXPECT_FALSE(from_proto(negative, {}).ok());
}

TEST(FromProto, OldClientsWithoutTheFlagAreStrict) {
  v1::WatchRequest request;
  request.add_kinds()->set_kind("service");

  EXPECT_FALSE(from_proto(request, {})->allow_partial_success);
}

TEST(FromProto, RoundTripsAKind) {
  const WatchKind full{
      .kind = "service", .name = "web", .labels = {{"a", "b"}}, .with_secrets = true};
  v1::WatchRequest request;
  *request.add_kinds() = to_proto(full);

  EXPECT_EQ(from_proto(request, {})->kinds.front(), full);
}

}  // namespace
}  // namespace holdfast::events
