#include "config/service_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>
#include <utility>

#include "base/bytes.h"
#include "resource/decode.h"
#include "resource/encode.h"

namespace holdfast::config {
namespace {

using resource::ErrorCode;
using resource::Member;
using resource::Node;
using resource::ParseError;
using std::string_view;

constexpr size_t kMaxServiceJsonBytes = size_t{64} << 10;
constexpr size_t kMaxPolicies = 16;
constexpr size_t kMaxServiceNameBytes = 256;

// The two spellings of a key; the first is the one that is printed.
struct Spelling {
  string_view camel;
  string_view snake;
  bool operator==(string_view key) const { return key == camel || key == snake; }
};
constexpr Spelling kWrapper = {"grpcClientLbPolicy", "grpc_client_lb_policy"};
constexpr Spelling kPolicies = {"loadBalancingConfig", "load_balancing_config"};
constexpr Spelling kHealthCheck = {"healthCheckConfig", "health_check_config"};
constexpr Spelling kServiceName = {"serviceName", "service_name"};
constexpr Spelling kMode = {"mode", "mode"};
constexpr std::array<string_view, 3> kPickHealthy = {"pick_healthy", "pickHealthy",
                                                     "teleport_pick_healthy"};

class ServiceConfigReader {
 public:
  // JSON tells text from numbers by its quotes; in YAML a plain word is text.
  explicit ServiceConfigReader(bool text_is_quoted) : text_is_quoted_(text_is_quoted) {}

  ServiceConfigReading read(const Node& root) {
    const Node* config = unwrapped(root);
    for (const Member* member : known_members(*config, {kPolicies, kHealthCheck}, "")) {
      if (kPolicies == member->key) read_policies(member->value);
      if (kHealthCheck == member->key) read_health_check(member->value);
    }
    if (out_.errors.empty()) warn_of_no_effect(*config);
    return std::move(out_);
  }

 private:
  // What stands in the wrapper, if there is one.
  static const Node* unwrapped(const Node& root) {
    const bool wrapped = root.shape == Node::Shape::Mapping && root.members.size() == 1 &&
                         kWrapper == root.members.front().key;
    return wrapped ? &root.members.front().value : &root;
  }

  // The members with a value whose key is known; notes an error for every other.
  std::vector<const Member*> known_members(const Node& node,
                                           std::initializer_list<Spelling> spellings,
                                           const std::string& path) {
    std::vector<const Member*> out;
    if (node.shape != Node::Shape::Mapping) {
      fail(node, path, resource::wrong_shape("a mapping", node));
      return out;
    }
    std::vector<string_view> names;
    for (const Spelling& spelling : spellings) names.push_back(spelling.camel);
    for (const Member& member : node.members) {
      const Spelling* found = nullptr;
      for (const Spelling& spelling : spellings) {
        if (spelling == member.key) found = &spelling;
      }
      const std::string at = path + (path.empty() ? "" : ".") + resource::key_in_path(member.key);
      if (found == nullptr) {
        add(out_.errors, {ErrorCode::UnknownField, member.key_at, at,
                          resource::unknown_field(member.key, names)});
      } else if (is_second(out, *found)) {
        add(out_.errors,
            {ErrorCode::Duplicate, member.key_at, at, "given twice, in two spellings; keep one"});
      } else if (member.value.shape != Node::Shape::Null) {
        out.push_back(&member);
      }
    }
    return out;
  }

  static bool is_second(std::span<const Member* const> members, const Spelling& spelling) {
    for (const Member* member : members) {
      if (spelling == member->key) return true;
    }
    return false;
  }

  void read_policies(const Node& node) {
    if (node.shape != Node::Shape::Sequence) {
      return fail(node, "loadBalancingConfig", resource::wrong_shape("a list", node));
    }
    if (node.items.size() > kMaxPolicies) {
      return fail(node, "loadBalancingConfig",
                  fmt::format("has {} policies; use at most {}", node.items.size(), kMaxPolicies));
    }
    const size_t errors_before = out_.errors.size();
    for (size_t i = 0; i < node.items.size(); ++i) {
      read_policy(node.items[i], fmt::format("loadBalancingConfig[{}]", i));
    }
    const bool none_known = out_.config.load_balancing_config().empty() && !node.items.empty();
    if (none_known && out_.errors.size() == errors_before) {
      fail(node, "loadBalancingConfig",
           "holds no policy that this version knows; use pick_healthy");
    }
  }

  void read_policy(const Node& node, const std::string& path) {
    if (node.shape != Node::Shape::Mapping || node.members.size() != 1) {
      return fail(node, path,
                  "must be a mapping of one policy, as {\"pick_healthy\": {\"mode\": "
                  "\"reconnect\"}}");
    }
    const Member& policy = node.members.front();
    if (std::ranges::find(kPickHealthy, policy.key) == kPickHealthy.end()) {
      return add(out_.warnings, {ErrorCode::UnknownField, policy.key_at, path,
                                 fmt::format("the policy {} is not one this version knows and is "
                                             "left out",
                                             in_quotes(policy.key))});
    }
    read_pick_healthy(policy.value, path + ".pick_healthy");
  }

  void read_pick_healthy(const Node& node, const std::string& path) {
    std::string mode = "pick_first";
    for (const Member* member : known_members(node, {kMode}, path)) {
      mode = member->value.text;
      const bool is_word = is_text(member->value);
      if (is_word && (mode == "pick_first" || mode == "reconnect")) continue;
      return fail(
          member->value, path + ".mode",
          is_word ? fmt::format("{} is not a mode; use pick_first or reconnect", in_quotes(mode))
                  : must_be_text(member->value));
    }
    out_.config.add_load_balancing_config()->mutable_pick_healthy()->set_mode(mode);
  }

  void read_health_check(const Node& node) {
    const std::string path = "healthCheckConfig";
    v1::HealthCheckConfig config;
    for (const Member* member : known_members(node, {kServiceName}, path)) {
      const Node& name = member->value;
      if (!is_text(name)) {
        return fail(name, path + ".serviceName", must_be_text(name));
      }
      if (name.text.size() > kMaxServiceNameBytes) {
        return fail(name, path + ".serviceName",
                    fmt::format("is {} bytes long; use at most {}", name.text.size(),
                                kMaxServiceNameBytes));
      }
      config.set_service_name(name.text);
    }
    *out_.config.mutable_health_check_config() = std::move(config);
  }

  void warn_of_no_effect(const Node& node) {
    const bool watches = out_.config.health_check_config().has_service_name();
    for (const v1::LoadBalancingConfig& policy : out_.config.load_balancing_config()) {
      if (policy.pick_healthy().mode() != "reconnect" || watches) continue;
      return add(out_.warnings,
                 {ErrorCode::WrongValue, node.at, "healthCheckConfig",
                  "mode reconnect does nothing without healthCheckConfig.serviceName; add "
                  "{\"serviceName\": \"\"}"});
    }
  }

  bool is_text(const Node& node) const {
    return node.shape == Node::Shape::Scalar && (node.quoted || !text_is_quoted_);
  }
  static std::string must_be_text(const Node& node) {
    const bool scalar = node.shape == Node::Shape::Scalar;
    return scalar ? "must be text in quotes" : resource::wrong_shape("text", node);
  }

  void fail(const Node& node, const std::string& path, std::string message) {
    add(out_.errors, {ErrorCode::WrongValue, node.at, path, std::move(message)});
  }
  static void add(std::vector<ParseError>& to, ParseError error) { to.push_back(std::move(error)); }

  bool text_is_quoted_;
  ServiceConfigReading out_;
};

}  // namespace

ServiceConfigReading parse_service_config(string_view json) {
  const auto node = resource::read_json(
      json, {.max_input_bytes = kMaxServiceJsonBytes, .max_document_bytes = kMaxServiceJsonBytes});
  if (!node) return {.config = {}, .errors = {node.error()}, .warnings = {}};
  return ServiceConfigReader(true).read(*node);
}

ServiceConfigReading read_service_config(const Node& node) {
  return ServiceConfigReader(false).read(node);
}

v1::ServiceConfig default_service_config() {
  v1::ServiceConfig config;
  config.add_load_balancing_config()->mutable_pick_healthy()->set_mode("reconnect");
  config.mutable_health_check_config()->set_service_name("");
  return config;
}

std::string service_config_json(const v1::ServiceConfig& config) {
  Node root = Node::mapping();
  Node policies = Node::sequence();
  for (const v1::LoadBalancingConfig& policy : config.load_balancing_config()) {
    Node settings = Node::mapping();
    settings.members.push_back(
        {.key = "mode", .value = Node::scalar(policy.pick_healthy().mode(), true)});
    policies.items.push_back(Node::mapping());
    policies.items.back().members.push_back({.key = "pick_healthy", .value = settings});
  }
  root.members.push_back({.key = std::string(kPolicies.camel), .value = std::move(policies)});
  if (config.has_health_check_config()) {
    Node check = Node::mapping();
    if (config.health_check_config().has_service_name()) {
      const std::string& name = config.health_check_config().service_name();
      check.members.push_back(
          {.key = std::string(kServiceName.camel), .value = Node::scalar(name, true)});
    }
    root.members.push_back({.key = std::string(kHealthCheck.camel), .value = std::move(check)});
  }
  return resource::write_json(root);
}

}  // namespace holdfast::config
