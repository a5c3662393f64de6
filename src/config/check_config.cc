#include "config/check_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "config/node_rules.h"
#include "config/value.h"
#include "resource/decode.h"
#include "resource/encode.h"
#include "resource/proto_time.h"
#include "resource/scalar_text.h"

namespace holdfast::config {
namespace {

using namespace std::chrono_literals;
using resource::ErrorCode;
using resource::Member;
using resource::Node;
using resource::ParseError;
using std::string_view;
using Kind = CheckConfig::Kind;

constexpr size_t kMaxCheckJsonBytes = size_t{64} << 10;
constexpr size_t kMaxChecks = 1'024;
constexpr size_t kMaxHeaders = 32;
constexpr size_t kMaxCheckTextBytes = 2'048;
constexpr uint32_t kMostThreshold = 1'000;
constexpr Duration kLeastTime = 10ms;
constexpr Duration kLongestTime = 1h;

constexpr std::array<string_view, 3> kKinds = {"http", "tcp", "grpc"};
constexpr std::array<string_view, 9> kKeys = {"http",
                                              "tcp",
                                              "grpc",
                                              "port",
                                              "initial_delay",
                                              "period",
                                              "timeout",
                                              "failure_threshold",
                                              "success_threshold"};
constexpr std::array<string_view, 3> kHttpKeys = {"path", "scheme", "headers"};
constexpr std::array<string_view, 2> kGrpcKeys = {"service", "tls"};

bool is_visible(string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; });
}

bool is_token(string_view text) {
  constexpr string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           kMarks.contains(c);
  });
}

bool is_line(string_view text) {
  return !first_invalid_utf8(text) && std::ranges::all_of(text, [](char c) {
    return (static_cast<uint8_t>(c) >= 0x20 && c != 0x7f) || c == '\t';
  });
}

class CheckConfigReader {
 public:
  CheckConfigsReading read(const Node& root) {
    if (root.shape != Node::Shape::Mapping) {
      fail(root, "", resource::wrong_shape("a mapping from services to checks", root));
      return std::move(out_);
    }
    if (root.members.size() > kMaxChecks) {
      fail(root, "", fmt::format("has {} checks; use at most {}", root.members.size(), kMaxChecks));
      return std::move(out_);
    }
    for (const Member& member : root.members) {
      const auto wrong = wrong_check_name(member.key);
      if (wrong) add(ErrorCode::WrongValue, member.key_at, "", *wrong);
      CheckConfig check = read_check(member.value, resource::key_in_path(member.key));
      if (!wrong) out_.checks.emplace(member.key, std::move(check));
    }
    return std::move(out_);
  }

 private:
  CheckConfig read_check(const Node& node, const std::string& path) {
    CheckConfig check;
    if (node.shape == Node::Shape::Scalar) {
      const auto kind = std::ranges::find(kKinds, node.text);
      if (kind == kKinds.end()) {
        fail(node, path,
             fmt::format("{} is no kind of check; use http, tcp or grpc", in_quotes(node.text)));
      } else {
        check.kind = static_cast<Kind>(kind - kKinds.begin());
      }
      return check;
    }
    if (!knows_members(node, kKeys, path)) return check;
    int kinds = 0;
    for (const Member& member : node.members) {
      const auto kind = std::ranges::find(kKinds, member.key);
      const std::string below = path + "." + member.key;
      if (kind == kKinds.end()) {
        read_setting(member, below, check);
        continue;
      }
      ++kinds;
      check.kind = static_cast<Kind>(kind - kKinds.begin());
      read_kind(member.value, below, check);
    }
    if (kinds != 1) fail(node, path, "must name one of http, tcp and grpc");
    return check;
  }

  void read_kind(const Node& node, const std::string& path, CheckConfig& check) {
    if (node.shape == Node::Shape::Null) return;
    if (check.kind == Kind::Http && node.shape == Node::Shape::Scalar) {
      return read_path(node, path, check);
    }
    if (check.kind == Kind::Http) return read_http(node, path, check);
    if (check.kind == Kind::Grpc) return read_grpc(node, path, check);
    knows_members(node, {}, path);
  }

  void read_http(const Node& node, const std::string& path, CheckConfig& check) {
    if (!knows_members(node, kHttpKeys, path)) return;
    for (const Member& member : node.members) {
      const std::string below = path + "." + member.key;
      if (member.value.shape == Node::Shape::Null) continue;
      if (member.key == "path") read_path(member.value, below, check);
      if (member.key == "scheme") read_scheme(member.value, below, check);
      if (member.key == "headers") read_headers(member.value, below, check);
    }
  }

  void read_path(const Node& node, const std::string& path, CheckConfig& check) {
    check.path = text(node, path);
    const bool good = check.path.starts_with('/') && is_visible(check.path) &&
                      !check.path.contains('#') && check.path.size() <= kMaxCheckTextBytes;
    if (good || node.shape != Node::Shape::Scalar) return;
    fail(node, path,
         fmt::format("{} is no path; use one such as /healthz or /ready?full=1, with %20 for a "
                     "space",
                     in_quotes(check.path)));
  }

  void read_scheme(const Node& node, const std::string& path, CheckConfig& check) {
    const std::string scheme = text(node, path);
    check.tls = scheme == "https" || scheme == "HTTPS";
    if (check.tls || scheme == "http" || scheme == "HTTP") return;
    fail(node, path, fmt::format("{} is no scheme; use http or https", in_quotes(scheme)));
  }

  void read_headers(const Node& node, const std::string& path, CheckConfig& check) {
    if (node.shape != Node::Shape::Mapping) {
      return fail(node, path, resource::wrong_shape("a mapping from names to values", node));
    }
    if (node.members.size() > kMaxHeaders) {
      return fail(node, path,
                  fmt::format("has {} headers; use at most {}", node.members.size(), kMaxHeaders));
    }
    for (const Member& member : node.members) {
      if (!is_token(member.key) || member.key.size() > kMaxCheckTextBytes) {
        add(ErrorCode::WrongValue, member.key_at, path,
            fmt::format("{} is not a header's name", in_quotes(member.key)));
      }
      std::string value = text(member.value, path);
      if (!is_line(value) || value.size() > kMaxCheckTextBytes) {
        fail(member.value, path, "holds what does not belong in a header, or too much of it");
      }
      check.headers.emplace_back(member.key, std::move(value));
    }
  }

  void read_grpc(const Node& node, const std::string& path, CheckConfig& check) {
    if (!knows_members(node, kGrpcKeys, path)) return;
    for (const Member& member : node.members) {
      const std::string below = path + "." + member.key;
      if (member.value.shape == Node::Shape::Null) continue;
      const std::string value = text(member.value, below);
      if (member.key == "tls") {
        check.tls = value == "true";
        if (value != "true" && value != "false") fail(member.value, below, "use true or false");
      } else {
        check.service = value;
        if (is_line(value) && value.size() <= kMaxCheckTextBytes) continue;
        fail(member.value, below, "is no name of a gRPC service");
      }
    }
  }

  void read_setting(const Member& member, const std::string& path, CheckConfig& check) {
    if (member.value.shape == Node::Shape::Null) return;
    const string_view key = member.key;
    if (key == "port") check.port = number<uint16_t>(member.value, path, 65'535);
    if (key == "failure_threshold") {
      check.failure_threshold = number<uint32_t>(member.value, path, kMostThreshold);
    }
    if (key == "success_threshold") {
      check.success_threshold = number<uint32_t>(member.value, path, kMostThreshold);
    }
    if (key == "initial_delay") check.initial_delay = time(member.value, path, 0s, 0s);
    if (key == "period") check.period = time(member.value, path, kLeastTime, kLongestTime);
    if (key == "timeout") check.timeout = time(member.value, path, kLeastTime, kLeastTime);
  }

  template <typename Number>
  Number number(const Node& node, const std::string& path, Number most) {
    const auto read = resource::parse_int<uint64_t>(text(node, path));
    if (read && *read >= 1 && *read <= most) return static_cast<Number>(*read);
    if (node.shape == Node::Shape::Scalar) {
      fail(node, path,
           fmt::format("{} is not a whole number from 1 to {}", in_quotes(node.text), most));
    }
    return 1;
  }

  // `otherwise`: what contradicts no other setting.
  Duration time(const Node& node, const std::string& path, Duration least, Duration otherwise) {
    const auto read = resource::parse_duration(text(node, path));
    // What protobuf can hold and a Duration cannot is far beyond the longest time.
    const bool sane =
        read && read->seconds() >= 0 && read->seconds() <= kLongestTime / 1s && read->nanos() >= 0;
    const Duration value = sane ? resource::to_duration(*read) : Duration(-1);
    if (value >= least && value <= kLongestTime) return value;
    if (node.shape == Node::Shape::Scalar) {
      fail(node, path,
           read ? fmt::format("{} is out of range; use {} to {}", node.text, duration_text(least),
                              duration_text(kLongestTime))
                : read.error());
    }
    return otherwise;
  }

  std::string text(const Node& node, const std::string& path) {
    if (node.shape == Node::Shape::Scalar) return node.text;
    fail(node, path, resource::wrong_shape("text", node));
    return "";
  }

  bool knows_members(const Node& node, std::span<const string_view> keys, const std::string& path) {
    if (node.shape != Node::Shape::Mapping) {
      fail(node, path, resource::wrong_shape("a mapping", node));
      return false;
    }
    for (const Member& member : node.members) {
      if (std::ranges::find(keys, member.key) != keys.end()) continue;
      add(ErrorCode::UnknownField, member.key_at, path + "." + resource::key_in_path(member.key),
          resource::unknown_field(member.key, keys));
    }
    return true;
  }

  void fail(const Node& node, const std::string& path, std::string message) {
    add(ErrorCode::WrongValue, node.at, path, std::move(message));
  }
  void add(ErrorCode code, resource::Position at, const std::string& path, std::string message) {
    out_.errors.push_back({code, at, path, std::move(message)});
  }

  CheckConfigsReading out_;
};

void put(Node& object, string_view key, Node value) {
  object.members.push_back({.key = std::string(key), .value = std::move(value)});
}

Node quoted_text(std::string text) {
  return Node::scalar(std::move(text), true);
}

Node kind_node(const CheckConfig& check) {
  Node out = Node::mapping();
  if (check.kind == Kind::Http) {
    put(out, "path", quoted_text(check.path));
    if (check.tls) put(out, "scheme", quoted_text("https"));
    Node headers = Node::mapping();
    for (const auto& [name, value] : check.headers) put(headers, name, quoted_text(value));
    if (!check.headers.empty()) put(out, "headers", std::move(headers));
  }
  if (check.kind == Kind::Grpc) {
    if (!check.service.empty()) put(out, "service", quoted_text(check.service));
    if (check.tls) put(out, "tls", Node::scalar("true", false));
  }
  return out;
}

Node check_node(const CheckConfig& check) {
  const CheckConfig usual;
  Node out = Node::mapping();
  put(out, kKinds.at(static_cast<size_t>(check.kind)), kind_node(check));
  const auto number = [&](string_view key, uint64_t value, uint64_t fallback) {
    if (value != fallback) put(out, key, Node::scalar(std::to_string(value), false));
  };
  const auto time = [&](string_view key, Duration value, Duration fallback) {
    if (value != fallback) put(out, key, quoted_text(duration_text(value)));
  };
  number("port", check.port, usual.port);
  time("initial_delay", check.initial_delay, usual.initial_delay);
  time("period", check.period, usual.period);
  time("timeout", check.timeout, usual.timeout);
  number("failure_threshold", check.failure_threshold, usual.failure_threshold);
  number("success_threshold", check.success_threshold, usual.success_threshold);
  return out;
}

}  // namespace

CheckConfigsReading parse_checks(string_view json) {
  if (json.empty()) return {};
  const auto node = resource::read_json(
      json, {.max_input_bytes = kMaxCheckJsonBytes, .max_document_bytes = kMaxCheckJsonBytes});
  if (!node) return {.checks = {}, .errors = {node.error()}};
  return CheckConfigReader().read(*node);
}

CheckConfigsReading read_checks(const Node& node) {
  return CheckConfigReader().read(node);
}

std::string checks_json(const CheckConfigs& checks) {
  if (checks.empty()) return "";
  Node root = Node::mapping();
  for (const auto& [name, check] : checks) put(root, name, check_node(check));
  return resource::write_json(root);
}

}  // namespace holdfast::config
