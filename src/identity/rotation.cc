#include "identity/rotation.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/reason.h"
#include "identity/wire_time.h"

namespace holdfast::identity {
namespace {

constexpr size_t kNamedLaggards = 10;

// What a node last said of itself.
struct NodeState {
  std::string name;
  const v1::Announcement* announcement = nullptr;  // null if it never said
  WallTime last_heartbeat;
};

template <typename Body>
NodeState state_from(std::string_view role, const v1::Resource& node, const Body& body) {
  return {.name = fmt::format("{}/{}", role, node.metadata().name()),
          .announcement = body.has_announcement() ? &body.announcement() : nullptr,
          .last_heartbeat = from_wire(body.last_heartbeat())};
}

NodeState state_of(const v1::Resource& node) {
  if (node.has_controller()) return state_from("controller", node, node.controller());
  if (node.has_proxy()) return state_from("proxy", node, node.proxy());
  HF_CHECK(node.has_agent(), "a node is a controller, a proxy or an agent");
  return state_from("agent", node, node.agent());
}

bool passed(WallTime since, WallTime now) {
  return since + kMaxNodeCertificateLife <= now;
}

// Whether it can no longer have a valid certificate. What it announced may be older than its last
// renewal, so that its certificate may last longer than it said, but never by more than one life.
bool is_gone(const NodeState& node, WallTime now) {
  if (node.announcement == nullptr) return passed(node.last_heartbeat, now);
  const v1::Announcement& said = *node.announcement;
  return (said.has_offline_since() && passed(from_wire(said.offline_since()), now)) ||
         (said.has_certificate_expires() && passed(from_wire(said.certificate_expires()), now));
}

const v1::CertAuthorityKey* find_key(const v1::CertAuthority& authority, bool signs) {
  const auto found = std::ranges::find(authority.keys(), signs, &v1::CertAuthorityKey::signs);
  return found == authority.keys().end() ? nullptr : &*found;
}

// Empty if there is no such key, or it cannot be read.
std::string pin_of_key(const v1::CertAuthority& authority, bool signs) {
  const v1::CertAuthorityKey* key = find_key(authority, signs);
  return key == nullptr ? "" : pin_of(key->certificate_pem()).value_or("");
}

bool trusts(const NodeState& node, const std::string& pin) {
  if (node.announcement == nullptr) return false;
  const auto& pins = node.announcement->trusted_pins();
  return std::ranges::find(pins, pin) != pins.end();
}

// An older announcement may be of a certificate that was renewed with the other key since.
bool uses(const NodeState& node, const std::string& pin, WallTime since) {
  return node.announcement != nullptr && node.announcement->issuer_pin() == pin &&
         node.last_heartbeat >= since;
}

void enter(v1::CertAuthority& authority, v1::RotationPhase phase, WallTime now) {
  authority.set_phase(phase);
  *authority.mutable_phase_since() = to_wire(now);
}

void swap_signer(v1::CertAuthority& authority) {
  for (v1::CertAuthorityKey& key : *authority.mutable_keys()) key.set_signs(!key.signs());
}

void drop_other_key(v1::CertAuthority& authority) {
  auto& keys = *authority.mutable_keys();
  keys.erase(std::remove_if(keys.begin(), keys.end(), [](const auto& key) { return !key.signs(); }),
             keys.end());
}

Status does_not_fit(std::string_view action, const v1::CertAuthority& authority) {
  if (authority.phase() == v1::ROTATION_PHASE_NONE) {
    return coded(absl::StatusCode::kFailedPrecondition, "HF5020",
                 fmt::format("cannot {}: no rotation is under way", action));
  }
  std::string phase = v1::RotationPhase_Name(authority.phase());
  phase = phase.substr(phase.rfind('_') + 1);
  std::ranges::transform(phase, phase.begin(), [](char c) { return c | 0x20; });
  return coded(absl::StatusCode::kFailedPrecondition, "HF5020",
               fmt::format("cannot {}: a rotation is in its phase {}", action, phase));
}

Status would_cut_off(const std::vector<std::string>& names) {
  const size_t shown = std::min(names.size(), kNamedLaggards);
  const auto end = names.begin() + static_cast<std::ptrdiff_t>(shown);
  const std::string more =
      names.size() > shown ? fmt::format(" and {} more", names.size() - shown) : "";
  return coded(absl::StatusCode::kFailedPrecondition, "HF5021",
               fmt::format("this step would cut off {}{}; wait until they have followed",
                           fmt::join(names.begin(), end, ", "), more));
}

Status start(v1::CertAuthority& authority, const SigningKey& key, WallTime now) {
  if (authority.phase() != v1::ROTATION_PHASE_NONE) return does_not_fit("start", authority);
  TRY(const std::string pin, pin_of(key.certificate_pem));
  if (pin == pin_of_key(authority, true)) {
    return absl::InvalidArgumentError("the new key is the one in use");
  }
  v1::CertAuthorityKey& added = *authority.add_keys();
  added.set_certificate_pem(key.certificate_pem);
  added.set_private_key_pem(key.private_key_pem);
  enter(authority, v1::ROTATION_PHASE_PREPARE, now);
  return absl::OkStatus();
}

Status next(v1::CertAuthority& authority, WallTime now) {
  switch (authority.phase()) {
    case v1::ROTATION_PHASE_PREPARE:
      swap_signer(authority);
      enter(authority, v1::ROTATION_PHASE_DUAL, now);
      return absl::OkStatus();
    case v1::ROTATION_PHASE_DUAL:
      enter(authority, v1::ROTATION_PHASE_SWITCH, now);
      return absl::OkStatus();
    case v1::ROTATION_PHASE_SWITCH:
      drop_other_key(authority);
      enter(authority, v1::ROTATION_PHASE_RETIRE, now);
      return absl::OkStatus();
    case v1::ROTATION_PHASE_RETIRE:
      enter(authority, v1::ROTATION_PHASE_NONE, now);
      return absl::OkStatus();
    default:
      return does_not_fit("go on", authority);
  }
}

Status roll_back(v1::CertAuthority& authority, bool at_once, WallTime now) {
  const v1::RotationPhase phase = authority.phase();
  const bool new_key_signs = phase == v1::ROTATION_PHASE_DUAL || phase == v1::ROTATION_PHASE_SWITCH;
  if (!new_key_signs && phase != v1::ROTATION_PHASE_PREPARE) {
    return does_not_fit("roll back", authority);
  }
  if (new_key_signs) swap_signer(authority);
  if (new_key_signs && !at_once) {
    enter(authority, v1::ROTATION_PHASE_SWITCH, now);
    return absl::OkStatus();
  }
  drop_other_key(authority);
  enter(authority, v1::ROTATION_PHASE_NONE, now);
  return absl::OkStatus();
}

}  // namespace

v1::CertAuthority first_authority(const std::string& cluster, const SigningKey& key, WallTime now) {
  v1::CertAuthority authority;
  authority.set_cluster(cluster);
  v1::CertAuthorityKey& first = *authority.add_keys();
  first.set_certificate_pem(key.certificate_pem);
  first.set_private_key_pem(key.private_key_pem);
  first.set_signs(true);
  enter(authority, v1::ROTATION_PHASE_NONE, now);
  return authority;
}

Result<Rotated> rotate(const v1::CertAuthority& authority, const std::vector<v1::Resource>& nodes,
                       const RotationStep& step, WallTime now) {
  Rotated out{.authority = authority, .laggards = {}};
  switch (step.action) {
    case v1::ROTATE_ACTION_START:
      TRY_OK(start(out.authority, step.new_key, now));
      break;
    case v1::ROTATE_ACTION_NEXT: {
      const std::vector<std::string> waiting = laggards(authority, nodes, now);
      if (!waiting.empty() && !step.cut_off_laggards) return would_cut_off(waiting);
      TRY_OK(next(out.authority, now));
      break;
    }
    case v1::ROTATE_ACTION_ROLLBACK:
      TRY_OK(roll_back(out.authority, step.cut_off_laggards, now));
      break;
    default:
      return absl::InvalidArgumentError("no action is given; use start, next or rollback");
  }
  out.laggards = laggards(out.authority, nodes, now);
  return out;
}

std::vector<std::string> laggards(const v1::CertAuthority& authority,
                                  const std::vector<v1::Resource>& nodes, WallTime now) {
  const bool prepares = authority.phase() == v1::ROTATION_PHASE_PREPARE;
  const WallTime since = from_wire(authority.phase_since());
  // A life after the switch began, every certificate of the other key has run out.
  const bool switches = authority.phase() == v1::ROTATION_PHASE_SWITCH && !passed(since, now);
  if (!prepares && !switches) return {};
  const std::string wanted = pin_of_key(authority, switches);
  std::vector<std::string> out;
  for (const v1::Resource& resource : nodes) {
    const NodeState node = state_of(resource);
    const bool followed = prepares ? trusts(node, wanted) : uses(node, wanted, since);
    if (!followed && !is_gone(node, now)) out.push_back(node.name);
  }
  std::ranges::sort(out);
  return out;
}

Result<SigningKey> signing_key(const v1::CertAuthority& authority) {
  const v1::CertAuthorityKey* key = find_key(authority, true);
  if (key == nullptr || key->private_key_pem().empty()) {
    return absl::DataLossError("the authority has no key that signs");
  }
  return SigningKey{.certificate_pem = key->certificate_pem(),
                    .private_key_pem = key->private_key_pem()};
}

std::string trusted_pem(const v1::CertAuthority& authority) {
  std::string out;
  for (const v1::CertAuthorityKey& key : authority.keys()) {
    out += key.certificate_pem();
    if (!out.ends_with('\n')) out += '\n';
  }
  return out;
}

Result<std::vector<std::string>> trusted_pins(const v1::CertAuthority& authority) {
  std::vector<std::string> pins;
  for (const v1::CertAuthorityKey& key : authority.keys()) {
    TRY(std::string pin, pin_of(key.certificate_pem()));
    pins.insert(key.signs() ? pins.begin() : pins.end(), std::move(pin));
  }
  return pins;
}

bool should_renew(const v1::CertAuthority& authority, const std::string& issuer_pin) {
  return should_renew(authority.phase(), pin_of_key(authority, true), issuer_pin);
}

bool should_renew(v1::RotationPhase phase, const std::string& signing_pin,
                  const std::string& issuer_pin) {
  return !issuer_pin.empty() && phase != v1::ROTATION_PHASE_DUAL && issuer_pin != signing_pin;
}

}  // namespace holdfast::identity
