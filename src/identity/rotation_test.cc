#include "identity/rotation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/reason.h"
#include "identity/wire_time.h"
#include "resource/registry.h"
#include "resource/validation.h"

namespace holdfast::identity {
namespace {

using resource::Kind;
using std::chrono::hours;
using std::chrono::minutes;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr WallTime kRotationNow(std::chrono::milliseconds(1'700'000'000'000));
constexpr Validity kRotationYears{.not_before = kRotationNow - hours(1),
                                  .not_after = kRotationNow + hours(24 * 3650)};

struct Keys {
  SigningKey old_key = make_authority("prod", kRotationYears).value();
  SigningKey new_key = make_authority("prod", kRotationYears).value();
  std::string old_pin = pin_of(old_key.certificate_pem).value();
  std::string new_pin = pin_of(new_key.certificate_pem).value();
};
const Keys& keys() {
  static const Keys made;
  return made;
}

// What a node announced, against which the tables below vary.
struct Said {
  std::vector<std::string> trusts{};
  std::string issuer{};
  Duration expires_in = hours(12);
  Duration heard_ago{};
  Duration offline_for{};  // 0: online
  bool announced = true;
};

WallTime before(WallTime now, Duration ago) {
  return now - std::chrono::duration_cast<std::chrono::milliseconds>(ago);
}

v1::Resource agent(const Said& said, WallTime now = kRotationNow) {
  v1::Resource node = resource::make_resource(Kind::Agent, "edge-07");
  *node.mutable_agent()->mutable_last_heartbeat() = to_wire(before(now, said.heard_ago));
  if (!said.announced) return node;
  v1::Announcement& announcement = *node.mutable_agent()->mutable_announcement();
  for (const std::string& pin : said.trusts) announcement.add_trusted_pins(pin);
  announcement.set_issuer_pin(said.issuer);
  *announcement.mutable_certificate_expires() = to_wire(before(now, -said.expires_in));
  if (said.offline_for > Duration::zero()) {
    *announcement.mutable_offline_since() = to_wire(before(now, said.offline_for));
  }
  return node;
}

RotationStep action(v1::RotateAction wanted) {
  return {.action = wanted, .new_key = keys().new_key};
}

v1::CertAuthority advanced(v1::CertAuthority authority, int steps) {
  for (int i = 0; i < steps; ++i) {
    const auto wanted = i == 0 ? v1::ROTATE_ACTION_START : v1::ROTATE_ACTION_NEXT;
    authority = rotate(authority, {}, action(wanted), kRotationNow).value().authority;
  }
  return authority;
}

// 0 none, 1 prepare, 2 dual, 3 switch, 4 retire, 5 none again.
v1::CertAuthority at_step(int steps) {
  return advanced(first_authority("prod", keys().old_key, kRotationNow), steps);
}

TEST(Rotation, GoesThroughItsPhasesAsDrawn) {
  struct Row {
    v1::RotationPhase phase;
    std::string signs;
    std::vector<std::string> pins;
    bool old_renews;
  };
  const std::string& old_pin = keys().old_pin;
  const std::string& new_pin = keys().new_pin;
  const Row rows[] = {
      {v1::ROTATION_PHASE_NONE, old_pin, {old_pin}, false},
      {v1::ROTATION_PHASE_PREPARE, old_pin, {old_pin, new_pin}, false},
      {v1::ROTATION_PHASE_DUAL, new_pin, {new_pin, old_pin}, false},
      {v1::ROTATION_PHASE_SWITCH, new_pin, {new_pin, old_pin}, true},
      {v1::ROTATION_PHASE_RETIRE, new_pin, {new_pin}, true},
      {v1::ROTATION_PHASE_NONE, new_pin, {new_pin}, true},
  };
  for (int step = 0; step < 6; ++step) {
    const v1::CertAuthority authority = at_step(step);
    const Row& row = rows[step];
    EXPECT_EQ(authority.phase(), row.phase);
    EXPECT_EQ(pin_of(signing_key(authority)->certificate_pem).value(), row.signs);
    EXPECT_EQ(trusted_pins(authority).value(), row.pins);
    EXPECT_EQ(split_chain(trusted_pem(authority))->size(), row.pins.size());
    EXPECT_EQ(should_renew(authority, old_pin), row.old_renews);
    EXPECT_FALSE(should_renew(authority, row.signs));
    EXPECT_FALSE(should_renew(authority, ""));
    EXPECT_EQ(authority.cluster(), "prod");
  }
}

TEST(Rotation, EveryVersionMayBeStored) {
  for (int step = 0; step < 6; ++step) {
    v1::Resource resource = resource::make_resource(Kind::CertAuthority, "cluster");
    *resource.mutable_cert_authority() = at_step(step);
    EXPECT_TRUE(resource::validate(resource).ok()) << resource::validate(resource);
  }
}

TEST(Rotation, AnActionThatDoesNotFitThePhaseIsRefused) {
  const auto S = v1::ROTATE_ACTION_START;
  const auto N = v1::ROTATE_ACTION_NEXT;
  const auto R = v1::ROTATE_ACTION_ROLLBACK;
  const std::vector<v1::RotateAction> refused[] = {{N, R}, {S}, {S}, {S}, {S, R}, {N, R}};
  for (int step = 0; step < 6; ++step) {
    for (const auto wanted : {S, N, R}) {
      RotationStep asked = action(wanted);
      if (step == 5) asked.new_key = keys().old_key;  // any other than the one in use
      const Status status = rotate(at_step(step), {}, asked, kRotationNow).status();
      const bool expected = std::ranges::find(refused[step], wanted) != refused[step].end();
      EXPECT_EQ(split_reason(status).code, expected ? "HF5020" : "") << step << ", " << wanted;
    }
  }
  EXPECT_FALSE(rotate(at_step(0), {}, action(v1::ROTATE_ACTION_UNSPECIFIED), kRotationNow).ok());
}

TEST(Rotation, StartsWithAnotherKeyOnly) {
  const v1::CertAuthority authority = at_step(0);
  const RotationStep same{.action = v1::ROTATE_ACTION_START, .new_key = keys().old_key};
  const RotationStep none{.action = v1::ROTATE_ACTION_START};

  EXPECT_FALSE(rotate(authority, {}, same, kRotationNow).ok());
  EXPECT_FALSE(rotate(authority, {}, none, kRotationNow).ok());
}

TEST(Rotation, PrepareWaitsForAllToTrustTheNewKey) {
  const v1::CertAuthority authority = at_step(1);
  const std::string& old_pin = keys().old_pin;
  const std::string& new_pin = keys().new_pin;
  const std::pair<Said, bool> table[] = {
      {{.trusts = {old_pin, new_pin}, .issuer = old_pin}, false},
      {{.trusts = {old_pin}, .issuer = old_pin}, true},
      {{.trusts = {}, .issuer = old_pin}, true},
      {{.trusts = {old_pin}, .offline_for = hours(23)}, true},
      {{.trusts = {old_pin}, .offline_for = hours(24)}, false},
      {{.trusts = {old_pin}, .expires_in = -hours(1)}, true},  // may have renewed unheard
      {{.trusts = {old_pin}, .expires_in = -hours(24)}, false},
      {{.announced = false}, true},
      {{.heard_ago = hours(23), .announced = false}, true},
      {{.heard_ago = hours(24), .announced = false}, false},
  };
  int row = 0;
  for (const auto& [said, lags] : table) {
    const std::vector<v1::Resource> nodes = {agent(said)};
    EXPECT_EQ(!laggards(authority, nodes, kRotationNow).empty(), lags) << "row " << row;
    const Status status =
        rotate(authority, nodes, action(v1::ROTATE_ACTION_NEXT), kRotationNow).status();
    EXPECT_EQ(split_reason(status).code, lags ? "HF5021" : "") << "row " << row++;
  }
}

TEST(Rotation, SwitchWaitsForAllToUseTheNewKey) {
  const v1::CertAuthority authority = at_step(3);  // began at kRotationNow
  const std::string& old_pin = keys().old_pin;
  const std::string& new_pin = keys().new_pin;
  const WallTime later = kRotationNow + hours(20);
  const std::pair<Said, bool> table[] = {
      {{.issuer = new_pin}, false},
      {{.issuer = new_pin, .heard_ago = hours(20)}, false},
      {{.issuer = new_pin, .heard_ago = hours(21)}, true},  // before the switch began
      {{.issuer = old_pin}, true},
      {{.issuer = ""}, true},
      {{.issuer = old_pin, .expires_in = -hours(8)}, true},  // may have renewed unheard
      {{.issuer = old_pin, .expires_in = -hours(24)}, false},
      {{.issuer = old_pin, .offline_for = hours(24)}, false},
      {{.announced = false}, true},
      {{.heard_ago = hours(24), .announced = false}, false},
  };
  int row = 0;
  for (const auto& [said, lags] : table) {
    EXPECT_EQ(!laggards(authority, {agent(said, later)}, later).empty(), lags) << "row " << row++;
  }
}

TEST(Rotation, SwitchWaitsNoLongerThanACertificateLasts) {
  const v1::CertAuthority authority = at_step(3);
  const WallTime end = kRotationNow + hours(24);
  const Said old{.issuer = keys().old_pin};

  EXPECT_THAT(laggards(authority, {agent(old, end)}, end - minutes(1)),
              ElementsAre("agent/edge-07"));
  EXPECT_THAT(laggards(authority, {agent(old, end)}, end), IsEmpty());
}

TEST(Rotation, OtherPhasesWaitForNobody) {
  for (const int step : {0, 2, 4, 5}) {
    EXPECT_THAT(laggards(at_step(step), {agent({.issuer = "x"})}, kRotationNow), IsEmpty()) << step;
  }
}

TEST(Rotation, NamesTenLaggardsAndCountsTheRest) {
  std::vector<v1::Resource> nodes;
  for (int i = 10; i < 22; ++i) {
    nodes.push_back(agent({.trusts = {keys().old_pin}}));
    nodes.back().mutable_metadata()->set_name("a" + std::to_string(i));
  }
  const Status status =
      rotate(at_step(1), nodes, action(v1::ROTATE_ACTION_NEXT), kRotationNow).status();

  EXPECT_EQ(
      status.message(),
      "HF5021: this step would cut off agent/a10, agent/a11, agent/a12, agent/a13, agent/a14, "
      "agent/a15, agent/a16, agent/a17, agent/a18, agent/a19 and 2 more; wait until they have "
      "followed");
}

TEST(Rotation, LaggardsAreCutOffIfToldTo) {
  RotationStep step = action(v1::ROTATE_ACTION_NEXT);
  step.cut_off_laggards = true;

  const auto rotated = rotate(at_step(1), {agent({})}, step, kRotationNow);

  EXPECT_EQ(rotated->authority.phase(), v1::ROTATION_PHASE_DUAL);
}

TEST(Rotation, TellsWhoHoldsUpTheStepAfterThisOne) {
  const v1::Resource node = agent({.trusts = {keys().old_pin}, .issuer = keys().old_pin});

  EXPECT_THAT(rotate(at_step(0), {node}, action(v1::ROTATE_ACTION_START), kRotationNow)->laggards,
              ElementsAre("agent/edge-07"));
  EXPECT_THAT(rotate(at_step(2), {node}, action(v1::ROTATE_ACTION_NEXT), kRotationNow)->laggards,
              ElementsAre("agent/edge-07"));
}

TEST(Rotation, ControllersAndProxiesCountToo) {
  const std::vector<v1::Resource> nodes = {resource::make_resource(Kind::Proxy, "p"),
                                           resource::make_resource(Kind::Controller, "c")};
  std::vector<v1::Resource> recent = nodes;
  *recent[0].mutable_proxy()->mutable_last_heartbeat() = to_wire(kRotationNow);
  *recent[1].mutable_controller()->mutable_last_heartbeat() = to_wire(kRotationNow);

  EXPECT_THAT(laggards(at_step(1), recent, kRotationNow), ElementsAre("controller/c", "proxy/p"));
  EXPECT_THAT(laggards(at_step(1), nodes, kRotationNow), IsEmpty());  // never heard of
}

TEST(Rotation, RollsBackFromPrepareAtOnce) {
  const v1::CertAuthority back =
      rotate(at_step(1), {agent({})}, action(v1::ROTATE_ACTION_ROLLBACK), kRotationNow)->authority;

  EXPECT_EQ(back.phase(), v1::ROTATION_PHASE_NONE);
  EXPECT_THAT(trusted_pins(back).value(), ElementsAre(keys().old_pin));
}

TEST(Rotation, RollsBackFromDualAndSwitchWithoutCuttingAnybodyOff) {
  const v1::Resource follows = agent({.issuer = keys().new_pin});
  for (const int step : {2, 3}) {
    const auto back =
        rotate(at_step(step), {follows}, action(v1::ROTATE_ACTION_ROLLBACK), kRotationNow);

    EXPECT_EQ(back->authority.phase(), v1::ROTATION_PHASE_SWITCH);
    EXPECT_THAT(trusted_pins(back->authority).value(), ElementsAre(keys().old_pin, keys().new_pin));
    EXPECT_TRUE(should_renew(back->authority, keys().new_pin));
    EXPECT_THAT(back->laggards, ElementsAre("agent/edge-07"));

    const auto retired = rotate(back->authority, {agent({.issuer = keys().old_pin})},
                                action(v1::ROTATE_ACTION_NEXT), kRotationNow);
    EXPECT_EQ(retired->authority.phase(), v1::ROTATION_PHASE_RETIRE);
    EXPECT_THAT(trusted_pins(retired->authority).value(), ElementsAre(keys().old_pin));
  }
}

TEST(Rotation, RollsBackAtOnceIfLaggardsMayBeCutOff) {
  RotationStep step = action(v1::ROTATE_ACTION_ROLLBACK);
  step.cut_off_laggards = true;

  const auto back = rotate(at_step(3), {agent({})}, step, kRotationNow);

  EXPECT_EQ(back->authority.phase(), v1::ROTATION_PHASE_NONE);
  EXPECT_THAT(trusted_pins(back->authority).value(), ElementsAre(keys().old_pin));
}

TEST(Rotation, AnAuthorityWithoutAKeyThatSignsIsDataLoss) {
  v1::CertAuthority broken = at_step(0);
  broken.mutable_keys(0)->clear_private_key_pem();

  EXPECT_EQ(signing_key(broken).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(signing_key(v1::CertAuthority()).status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace holdfast::identity
