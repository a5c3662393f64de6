// The registry as the JSON that travels to a handler: read strictly, written without what is
// default.
#include <fmt/format.h>

#include <boost/json.hpp>

#include <algorithm>
#include <initializer_list>
#include <optional>

#include "base/bytes.h"
#include "base/reason.h"
#include "probe/probe_rules.h"
#include "probe/registry.h"
#include "resource/node.h"
#include "resource/scalar_text.h"

namespace holdfast::probe {
namespace {

namespace json = boost::json;
using resource::Member;
using resource::Node;
using std::string_view;

constexpr size_t kMaxDepth = 8;
constexpr int64_t kMaxTimeoutSeconds = 1'000'000'000;

bool is_text(const Node& value) {
  return value.shape == Node::Shape::Scalar && value.quoted;
}

// Absent unless it is a whole number within the two.
std::optional<int64_t> number(const Node& value, int64_t least, int64_t most) {
  if (value.shape != Node::Shape::Scalar || value.quoted) return std::nullopt;
  const auto read = resource::parse_int<int64_t>(value.text);
  if (!read || *read < least || *read > most) return std::nullopt;
  return *read;
}

// An object of the list, and where it is: "probes[2].httpGet".
struct Object {
  const Node& fields;
  std::string place;

  Status wrong(string_view key, string_view what) const {
    return absl::InvalidArgumentError(fmt::format("{}.{}: {}", place, key, what));
  }
  const Node* find(string_view key) const { return resource::find_member(fields, key); }
  Status only(std::initializer_list<string_view> known) const {
    for (const Member& member : fields.members) {
      if (std::ranges::find(known, string_view(member.key)) == known.end()) {
        return absl::InvalidArgumentError(
            fmt::format("{}: {} is no field of it", place, in_quotes(member.key)));
      }
    }
    return absl::OkStatus();
  }
  // Nothing, if it is absent or null.
  Status take(string_view key, std::string& into) const {
    const Node* value = find(key);
    if (value == nullptr || value->shape == Node::Shape::Null) return absl::OkStatus();
    if (!is_text(*value)) return wrong(key, "is no text");
    into = value->text;
    return absl::OkStatus();
  }
  Result<Object> object(string_view key) const {
    const Node* value = find(key);
    if (value == nullptr || value->shape != Node::Shape::Mapping) {
      return wrong(key, "is no object");
    }
    return Object{*value, fmt::format("{}.{}", place, key)};
  }
  Result<uint16_t> port() const {
    const Node* value = find("port");
    if (value == nullptr) return wrong("port", "is missing");
    const std::optional<int64_t> port = number(*value, 1, 65535);
    if (!port) return wrong("port", "is no number in 1..65535");
    return static_cast<uint16_t>(*port);
  }
  // Which of them it is, 0 if absent.
  Result<size_t> choice(string_view key, std::initializer_list<string_view> words) const {
    std::string word(*words.begin());
    TRY_OK(take(key, word));
    const auto* found = std::ranges::find(words, string_view(word));
    if (found != words.end()) return static_cast<size_t>(found - words.begin());
    return wrong(key, fmt::format("{} is not one of {}", in_quotes(word), fmt::join(words, ", ")));
  }
};

Status take_headers(const Object& http, std::vector<Header>& into) {
  const Node* list = http.find("httpHeaders");
  if (list == nullptr || list->shape == Node::Shape::Null) return absl::OkStatus();
  if (list->shape != Node::Shape::Sequence) return http.wrong("httpHeaders", "is no list");
  for (const Node& item : list->items) {
    const std::string place = fmt::format("{}.httpHeaders[{}]", http.place, into.size());
    if (item.shape != Node::Shape::Mapping) {
      return absl::InvalidArgumentError(place + ": is no object");
    }
    const Object header{item, place};
    TRY_OK(header.only({"name", "value"}));
    Header& one = into.emplace_back();
    TRY_OK(header.take("name", one.name));
    TRY_OK(header.take("value", one.value));
  }
  return absl::OkStatus();
}

Status take_http(const Object& fields, Probe& probe) {
  TRY_OK(fields.only({"path", "port", "scheme", "httpHeaders", "host", "protocol"}));
  HttpGet http;
  TRY_OK(fields.take("path", http.path));
  if (http.path.empty()) http.path = "/";
  TRY_OK(fields.take("host", probe.host));
  TRY(const size_t scheme, fields.choice("scheme", {"HTTP", "HTTPS"}));
  TRY(const size_t protocol, fields.choice("protocol", {"HTTP1", "HTTP2"}));
  TRY(probe.port, fields.port());
  TRY_OK(take_headers(fields, http.headers));
  http.tls = scheme == 1;
  http.h2c = protocol == 1;
  probe.action = std::move(http);
  return absl::OkStatus();
}

Status take_tcp(const Object& fields, Probe& probe) {
  TRY_OK(fields.only({"port", "host"}));
  TRY_OK(fields.take("host", probe.host));
  TRY(probe.port, fields.port());
  probe.action = TcpSocket{};
  return absl::OkStatus();
}

Status take_grpc(const Object& fields, Probe& probe) {
  TRY_OK(fields.only({"port", "service", "mode", "host"}));
  Grpc grpc;
  TRY_OK(fields.take("host", probe.host));
  TRY_OK(fields.take("service", grpc.service));
  TRY(const size_t mode, fields.choice("mode", {"Plaintext", "TLS"}));
  TRY(probe.port, fields.port());
  grpc.tls = mode == 1;
  probe.action = std::move(grpc);
  return absl::OkStatus();
}

Status take_timeout(const Object& fields, Probe& probe) {
  const Node* value = fields.find("timeoutSeconds");
  if (value == nullptr) return absl::OkStatus();
  if (probe.hook) return fields.wrong("timeoutSeconds", "a hook has none");
  const std::optional<int64_t> seconds = number(*value, 0, kMaxTimeoutSeconds);
  if (!seconds) return fields.wrong("timeoutSeconds", "is no number of seconds");
  if (*seconds > 0) probe.timeout = std::chrono::seconds(*seconds);
  return absl::OkStatus();
}

Status take_hook(const Object& fields, Probe& probe) {
  const Node* value = fields.find("hook");
  if (value == nullptr) return absl::OkStatus();
  const bool is_word = value->shape == Node::Shape::Scalar && !value->quoted;
  probe.hook = is_word && value->text == "true";
  if (!probe.hook && !(is_word && value->text == "false")) {
    return fields.wrong("hook", "is neither true nor false");
  }
  return absl::OkStatus();
}

Result<Probe> take_probe(const Object& fields) {
  TRY_OK(fields.only({"httpGet", "tcpSocket", "grpc", "timeoutSeconds", "hook"}));
  using Take = Status (*)(const Object&, Probe&);
  constexpr std::pair<string_view, Take> kActions[] = {
      {"httpGet", take_http}, {"tcpSocket", take_tcp}, {"grpc", take_grpc}};
  Probe probe;
  int actions = 0;
  for (const auto& [name, take] : kActions) {
    if (fields.find(name) == nullptr) continue;
    TRY(const Object action, fields.object(name));
    TRY_OK(take(action, probe));
    actions += 1;
  }
  if (actions != 1) {
    return absl::InvalidArgumentError(fields.place +
                                      ": has not exactly one of httpGet, tcpSocket and grpc");
  }
  TRY_OK(take_hook(fields, probe));
  TRY_OK(take_timeout(fields, probe));
  const Status fits = check_probe(probe);
  if (fits.ok()) return probe;
  return absl::InvalidArgumentError(
      fmt::format("{}.{}", fields.place, string_view(fits.message())));
}

// What stands where the text is wrong, as far as it helps to find the place.
std::string excerpt(string_view text, resource::Position at) {
  constexpr size_t kShown = 24;
  for (uint32_t line = 1; line < at.line; ++line) text.remove_prefix(text.find('\n') + 1);
  text = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min<size_t>(at.column - 1, text.size()));
  return text.empty() ? "the end of the line" : in_quotes(text, kShown);
}

Result<std::vector<Probe>> take_list(string_view text) {
  if (text.size() > kMaxRegistryBytes) {
    return absl::InvalidArgumentError(
        fmt::format("probes: longer than {} bytes", kMaxRegistryBytes));
  }
  const resource::Parsed<Node> whole = resource::read_json(text, {.max_depth = kMaxDepth});
  if (!whole) {
    const auto& [code, at, field, message] = whole.error();
    return absl::InvalidArgumentError(
        fmt::format("probes: {}line {}, column {}: {}, at {}",
                    code == resource::ErrorCode::Syntax ? "no JSON: " : "", at.line, at.column,
                    message, excerpt(text, at)));
  }
  if (whole->shape != Node::Shape::Sequence) {
    return absl::InvalidArgumentError("probes: is no list");
  }
  std::vector<Probe> probes;
  for (const Node& item : whole->items) {
    const std::string place = fmt::format("probes[{}]", probes.size());
    if (item.shape != Node::Shape::Mapping) {
      return absl::InvalidArgumentError(place + ": is no object");
    }
    TRY(Probe probe, take_probe({item, place}));
    probes.push_back(std::move(probe));
  }
  return probes;
}

json::object to_object(const Probe& probe, const HttpGet& http) {
  json::object fields;
  fields["path"] = http.path;
  fields["port"] = probe.port;
  if (http.tls) fields["scheme"] = "HTTPS";
  if (http.h2c) fields["protocol"] = "HTTP2";
  if (!probe.host.empty()) fields["host"] = probe.host;
  if (http.headers.empty()) return fields;
  json::array& headers = fields["httpHeaders"].emplace_array();
  for (const Header& header : http.headers) {
    headers.push_back({{"name", header.name}, {"value", header.value}});
  }
  return fields;
}

json::object to_object(const Probe& probe, const TcpSocket& /*none*/) {
  json::object fields;
  fields["port"] = probe.port;
  if (!probe.host.empty()) fields["host"] = probe.host;
  return fields;
}

json::object to_object(const Probe& probe, const Grpc& grpc) {
  json::object fields;
  fields["port"] = probe.port;
  if (!grpc.service.empty()) fields["service"] = grpc.service;
  if (grpc.tls) fields["mode"] = "TLS";
  if (!probe.host.empty()) fields["host"] = probe.host;
  return fields;
}

}  // namespace

Result<Registry> Registry::parse(string_view text) {
  Result<std::vector<Probe>> probes = take_list(text);
  if (!probes.ok()) {
    return coded(probes.status().code(), "HF7010", string_view(probes.status().message()));
  }
  Registry registry;
  for (const Probe& probe : *probes) TRY_OK(registry.add(probe).status());
  return registry;
}

std::string Registry::to_json() const {
  constexpr string_view kNames[] = {"httpGet", "tcpSocket", "grpc"};  // as the variant has them
  json::array list;
  for (const Probe& probe : probes_) {
    json::object item;
    const string_view name = kNames[probe.action.index()];
    item[json::string_view(name.data(), name.size())] =
        std::visit([&](const auto& action) { return to_object(probe, action); }, probe.action);
    if (probe.hook) item["hook"] = true;
    if (probe.timeout != kDefaultTimeout && !probe.hook) {
      // A part of a second counts as a whole one, which is all the pod can say.
      item["timeoutSeconds"] = std::chrono::ceil<std::chrono::seconds>(probe.timeout).count();
    }
    list.push_back(std::move(item));
  }
  return json::serialize(list);
}

}  // namespace holdfast::probe
