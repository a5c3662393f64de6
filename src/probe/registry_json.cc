// The registry as the JSON that travels to a handler: read strictly, written without what is
// default.
#include <fmt/format.h>

#include <boost/json.hpp>

#include <initializer_list>

#include "base/bytes.h"
#include "base/reason.h"
#include "probe/probe_rules.h"
#include "probe/registry.h"

namespace holdfast::probe {
namespace {

namespace json = boost::json;
using std::string_view;

constexpr size_t kMaxDepth = 8;
constexpr int64_t kMaxTimeoutSeconds = 1'000'000'000;

string_view view(const json::string& text) {
  return {text.data(), text.size()};
}

// An object of the list, and where it is: "probes[2].httpGet".
struct Object {
  const json::object& fields;
  std::string place;

  Status wrong(string_view key, string_view what) const {
    return absl::InvalidArgumentError(fmt::format("{}.{}: {}", place, key, what));
  }
  const json::value* find(string_view key) const {
    return fields.if_contains(json::string_view(key.data(), key.size()));
  }
  Status only(std::initializer_list<string_view> known) const {
    for (const auto& [key, value] : fields) {
      const string_view name(key.data(), key.size());
      if (std::ranges::find(known, name) == known.end()) {
        return absl::InvalidArgumentError(
            fmt::format("{}: {} is no field of it", place, quoted(name)));
      }
    }
    return absl::OkStatus();
  }
  // Nothing, if it is absent or null.
  Status take(string_view key, std::string& into) const {
    const json::value* value = find(key);
    if (value == nullptr || value->is_null()) return absl::OkStatus();
    if (!value->is_string()) return wrong(key, "is no text");
    into = view(value->get_string());
    return absl::OkStatus();
  }
  Result<Object> object(string_view key) const {
    const json::value* value = find(key);
    if (value == nullptr || !value->is_object()) return wrong(key, "is no object");
    return Object{value->get_object(), fmt::format("{}.{}", place, key)};
  }
  Result<uint16_t> port() const {
    const json::value* value = find("port");
    if (value == nullptr) return wrong("port", "is missing");
    const int64_t* number = value->if_int64();
    if (number == nullptr || *number < 1 || *number > 65535) {
      return wrong("port", "is no number in 1..65535");
    }
    return static_cast<uint16_t>(*number);
  }
  // Which of them it is, 0 if absent.
  Result<size_t> choice(string_view key, std::initializer_list<string_view> words) const {
    std::string word(*words.begin());
    TRY_OK(take(key, word));
    const auto* found = std::ranges::find(words, string_view(word));
    if (found != words.end()) return static_cast<size_t>(found - words.begin());
    return wrong(key, fmt::format("{} is not one of {}", quoted(word), fmt::join(words, ", ")));
  }
};

Status take_headers(const Object& http, std::vector<Header>& into) {
  const json::value* list = http.find("httpHeaders");
  if (list == nullptr || list->is_null()) return absl::OkStatus();
  if (!list->is_array()) return http.wrong("httpHeaders", "is no list");
  for (const json::value& item : list->get_array()) {
    const std::string place = fmt::format("{}.httpHeaders[{}]", http.place, into.size());
    if (!item.is_object()) return absl::InvalidArgumentError(place + ": is no object");
    const Object header{item.get_object(), place};
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
  TRY_OK(fields.only({"port", "service", "mode"}));
  Grpc grpc;
  TRY_OK(fields.take("service", grpc.service));
  TRY(const size_t mode, fields.choice("mode", {"Plaintext", "TLS"}));
  TRY(probe.port, fields.port());
  grpc.tls = mode == 1;
  probe.action = std::move(grpc);
  return absl::OkStatus();
}

Status take_timeout(const Object& fields, Probe& probe) {
  const json::value* value = fields.find("timeoutSeconds");
  if (value == nullptr) return absl::OkStatus();
  if (probe.hook) return fields.wrong("timeoutSeconds", "a hook has none");
  const int64_t* seconds = value->if_int64();
  if (seconds == nullptr || *seconds < 0 || *seconds > kMaxTimeoutSeconds) {
    return fields.wrong("timeoutSeconds", "is no number of seconds");
  }
  if (*seconds > 0) probe.timeout = std::chrono::seconds(*seconds);
  return absl::OkStatus();
}

Status take_hook(const Object& fields, Probe& probe) {
  const json::value* value = fields.find("hook");
  if (value == nullptr) return absl::OkStatus();
  if (!value->is_bool()) return fields.wrong("hook", "is neither true nor false");
  probe.hook = value->get_bool();
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

Result<std::vector<Probe>> take_list(string_view text) {
  if (text.size() > kMaxRegistryBytes) {
    return absl::InvalidArgumentError(
        fmt::format("probes: longer than {} bytes", kMaxRegistryBytes));
  }
  json::error_code error;
  const json::value whole =
      json::parse(json::string_view(text.data(), text.size()), error, {}, {.max_depth = kMaxDepth});
  if (error) return absl::InvalidArgumentError("probes: no JSON: " + error.message());
  if (!whole.is_array()) return absl::InvalidArgumentError("probes: is no list");
  std::vector<Probe> probes;
  for (const json::value& item : whole.get_array()) {
    const std::string place = fmt::format("probes[{}]", probes.size());
    if (!item.is_object()) return absl::InvalidArgumentError(place + ": is no object");
    TRY(Probe probe, take_probe({item.get_object(), place}));
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
