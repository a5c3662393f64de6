// Rotation as nodes live through it, in virtual time and from a seed: they renew, go away for
// hours, come back, while an operator rotates and rolls back. Whoever obeys what it is told and has
// a certificate that has not run out is never refused, and can always verify the controllers.
//
// A certificate is here who signed it and when it runs out, which is all that rotation changes;
// trust_test verifies real ones. That makes a day cheap, so that there can be many.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/rng.h"
#include "identity/rotation.h"
#include "identity/wire_time.h"
#include "resource/registry.h"

namespace holdfast::identity {
namespace {

using resource::Kind;
using std::chrono::hours;
using std::chrono::minutes;

constexpr WallTime kRotationSimulationStart(std::chrono::milliseconds(1'700'000'000'000));
constexpr Validity kRotationSimulationYears{
    .not_before = kRotationSimulationStart - hours(1),
    .not_after = kRotationSimulationStart + hours(24 * 3650)};
constexpr minutes kStep(20);
constexpr size_t kControllers = 2;
constexpr size_t kNodes = 8;  // the controllers are the first of them

struct Node {
  Identity identity{};
  WallTime expires{};
  WallTime renew_at{};
  std::string issuer_pin{};
  std::vector<std::string> trusted_pins{};
  WallTime away_until = kRotationSimulationStart;
  bool is_away = false;
  v1::Resource announced{};
};

class World {
 public:
  explicit World(uint64_t seed) : rng_(seed) {
    authority_ = first_authority("prod", make_authority("prod", kRotationSimulationYears).value(),
                                 kRotationSimulationStart);
    pins_ = trusted_pins(authority_).value();
    for (size_t i = 0; i < kNodes; ++i) {
      const Role role = i < kControllers ? Role::Controller : Role::Agent;
      nodes_.push_back(std::make_unique<Node>());
      nodes_.back()->identity = {.role = role, .cluster = "prod", .name = fmt::format("n{}", i)};
      join(*nodes_.back());
    }
  }

  void run(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
      now_ += kStep;
      for (const auto& node : nodes_) live(*node);
      if (chance(2)) operate();
    }
  }

  int rotations() const { return rotations_; }
  int rollbacks() const { return rollbacks_; }
  int refusals() const { return refusals_; }
  int contacts() const { return contacts_; }

 private:
  bool chance(uint64_t one_in) { return rng_.below(one_in) == 0; }
  static bool is_controller(const Node& node) { return node.identity.role == Role::Controller; }

  void renew(Node& node) {
    node.expires = now_ + kMaxNodeCertificateLife;
    node.renew_at = now_ + hours(16);
    node.issuer_pin = pins_.front();
  }

  void join(Node& node) {
    renew(node);
    node.trusted_pins = pins_;
    announce(node);
  }

  bool verifies(const std::vector<std::string>& pins, const Node& shown) const {
    return now_ < shown.expires && std::ranges::count(pins, shown.issuer_pin) > 0;
  }

  // One step of a node: it is away, goes away, or talks to the controllers.
  void live(Node& node) {
    if (now_ < node.away_until) return mark_offline(node);
    if (node.expires <= now_) join(node);
    meet_controllers(node);
    if (node.is_away) announce(node);
    node.is_away = false;
    // Some renew and vanish before they can say so.
    if (node.renew_at <= now_ || chance(50)) renew(node);
    if (chance(125)) {
      node.away_until = now_ + kStep * (1 + static_cast<int>(rng_.below(3 * 40)));
      return;
    }
    announce(node);
  }

  void meet_controllers(Node& node) {
    contacts_ += 1;
    EXPECT_TRUE(verifies(pins_, node)) << story(node) << " is refused";
    for (size_t i = 0; i < kControllers; ++i) {
      const Node& controller = *nodes_[i];
      const bool is_up = now_ >= controller.away_until && now_ < controller.expires;
      if (!is_up || is_controller(node)) continue;
      EXPECT_TRUE(verifies(node.trusted_pins, controller))
          << story(node) << " cannot verify " << story(controller);
    }
  }

  void announce(Node& node) {
    const Kind kind = is_controller(node) ? Kind::Controller : Kind::Agent;
    node.announced = resource::make_resource(kind, node.identity.name);
    if (is_controller(node)) {
      fill(node, *node.announced.mutable_controller());
    } else {
      fill(node, *node.announced.mutable_agent());
    }
    // The answer, and obedience.
    const bool must_renew = should_renew(authority_.phase(), pins_.front(), node.issuer_pin);
    node.trusted_pins = pins_;
    if (must_renew) renew(node);
  }

  template <typename Body>
  void fill(const Node& node, Body& body) {
    *body.mutable_last_heartbeat() = to_wire(now_);
    v1::Announcement& said = *body.mutable_announcement();
    for (const std::string& pin : node.trusted_pins) said.add_trusted_pins(pin);
    said.set_issuer_pin(node.issuer_pin);
    *said.mutable_certificate_expires() = to_wire(node.expires);
  }

  void mark_offline(Node& node) {
    node.is_away = true;
    v1::Announcement* said = nullptr;
    if (node.announced.has_controller()) {
      said = node.announced.mutable_controller()->mutable_announcement();
    } else if (node.announced.has_agent()) {
      said = node.announced.mutable_agent()->mutable_announcement();
    }
    if (said != nullptr && !said->has_offline_since()) {
      *said->mutable_offline_since() = to_wire(now_);
    }
  }

  void operate() {
    std::vector<v1::Resource> announced;
    for (const auto& node : nodes_) {
      if (resource::kind_of(node->announced)) announced.push_back(node->announced);
    }
    const bool idle = authority_.phase() == v1::ROTATION_PHASE_NONE;
    RotationStep step{.action = v1::ROTATE_ACTION_NEXT};
    if (idle) {
      step = {.action = v1::ROTATE_ACTION_START,
              .new_key = make_authority("prod", kRotationSimulationYears).value()};
    } else if (chance(20)) {
      step.action = v1::ROTATE_ACTION_ROLLBACK;
    }
    const auto rotated = rotate(authority_, announced, step, now_);
    refusals_ += rotated.ok() ? 0 : 1;
    if (!rotated.ok()) return;
    authority_ = rotated->authority;
    pins_ = trusted_pins(authority_).value();
    rollbacks_ += step.action == v1::ROTATE_ACTION_ROLLBACK ? 1 : 0;
    rotations_ += authority_.phase() == v1::ROTATION_PHASE_RETIRE ? 1 : 0;
  }

  std::string story(const Node& node) const {
    return fmt::format("{} at {} in {}, signed by {}", to_string(node.identity), to_rfc3339(now_),
                       v1::RotationPhase_Name(authority_.phase()), node.issuer_pin.substr(0, 15));
  }

  Rng rng_;
  WallTime now_ = kRotationSimulationStart;
  v1::CertAuthority authority_;
  std::vector<std::string> pins_;
  std::vector<std::unique_ptr<Node>> nodes_;
  int rotations_ = 0;
  int rollbacks_ = 0;
  int refusals_ = 0;
  int contacts_ = 0;
};

class RotationSimulation : public testing::TestWithParam<uint64_t> {};

TEST_P(RotationSimulation, NobodyWhoObeysIsCutOff) {
  World world(GetParam());

  world.run(3 * 24 * 10);  // ten days

  EXPECT_FALSE(HasFailure()) << "seed " << GetParam();
  // What makes the answer worth something: much happened.
  EXPECT_GT(world.rotations(), 2);
  EXPECT_GT(world.rollbacks(), 0);
  EXPECT_GT(world.refusals(), 20);
  EXPECT_GT(world.contacts(), 2000);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RotationSimulation, testing::Range<uint64_t>(1, 17));

}  // namespace
}  // namespace holdfast::identity
