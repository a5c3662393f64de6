// From the words of a pod to a probe.
#include <absl/strings/numbers.h>
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "base/bytes.h"
#include "inject/slots.h"

namespace holdfast::inject {
namespace {

using std::string_view;

constexpr uint64_t kMaxTimeoutSeconds = 1'000'000'000;

struct Action {
  string_view kind;
  const json::object& fields;

  Status wrong(string_view name, string_view what) const {
    return absl::InvalidArgumentError(fmt::format("{}.{} {}", kind, name, what));
  }
  // Empty if it is absent or null.
  Result<std::string> text(string_view name) const {
    const json::value* value = find(fields, name);
    if (value == nullptr || value->is_null()) return std::string();
    if (!value->is_string()) return wrong(name, "is no text");
    return std::string(view(value->get_string()));
  }
  // Whether it is the second of two words; absent is the first.
  Result<bool> second(string_view name, string_view first, string_view other) const {
    TRY(const std::string word, text(name));
    if (word.empty() || word == first) return false;
    if (word == other) return true;
    return wrong(name, fmt::format("is {}, which is not known", in_quotes(word)));
  }
  void collect_unknown(std::initializer_list<string_view> known,
                       std::vector<std::string>& unknown) const {
    for (const auto& member : fields) {
      const string_view name = view(member.key());
      if (std::ranges::find(known, name) == known.end()) {
        unknown.push_back(fmt::format("{}.{}", kind, name));
      }
    }
  }
};

// By the name of a port of the container, as the kubelet finds it: whatever its protocol, the
// first.
Result<uint16_t> named_port(const Action& action, string_view name, const json::object& container) {
  if (const json::array* ports = find_array(container, "ports")) {
    for (const json::value& item : *ports) {
      const json::object* port = item.if_object();
      if (port == nullptr || find_text(*port, "name") != name) continue;
      const json::value* number = find(*port, "containerPort");
      if (const auto found = number == nullptr ? std::nullopt : port_number(*number)) return *found;
    }
  }
  uint32_t number = 0;
  const bool digits = absl::SimpleAtoi(absl::string_view(name.data(), name.size()), &number);
  if (digits && number >= 1 && number <= 65535) return static_cast<uint16_t>(number);
  return action.wrong(
      "port", fmt::format("is {}, and no port of the container has that name", in_quotes(name)));
}

Result<uint16_t> resolved_port(const Action& action, const json::object& container) {
  const json::value* value = find(action.fields, "port");
  if (value == nullptr || value->is_null()) return action.wrong("port", "is missing");
  if (value->is_string()) return named_port(action, view(value->get_string()), container);
  if (const auto number = port_number(*value)) return *number;
  return action.wrong("port", "is not in 1..65535");
}

Status take_headers(const Action& action, std::vector<probe::Header>& into) {
  const json::value* value = find(action.fields, "httpHeaders");
  if (value == nullptr || value->is_null()) return absl::OkStatus();
  if (!value->is_array()) return action.wrong("httpHeaders", "is no list");
  for (const json::value& item : value->get_array()) {
    if (!item.is_object()) return action.wrong("httpHeaders", "holds what is no object");
    const Action header{"httpHeaders", item.get_object()};
    TRY(std::string name, header.text("name"));
    TRY(std::string content, header.text("value"));
    into.push_back({std::move(name), std::move(content)});
  }
  return absl::OkStatus();
}

Status take_http(const Action& action, probe::Probe& into) {
  probe::HttpGet http;
  TRY(const std::string path, action.text("path"));
  if (!path.empty()) http.path = path;
  TRY(http.tls, action.second("scheme", "HTTP", "HTTPS"));
  TRY(http.h2c, action.second("protocol", "HTTP1", "HTTP2"));
  TRY(into.host, action.text("host"));
  TRY_OK(take_headers(action, http.headers));
  into.action = std::move(http);
  return absl::OkStatus();
}

Status take_grpc(const Action& action, probe::Probe& into) {
  probe::Grpc grpc;
  TRY(grpc.service, action.text("service"));
  TRY(grpc.tls, action.second("mode", "Plaintext", "TLS"));
  into.action = std::move(grpc);
  return absl::OkStatus();
}

Status take_action(const Action& action, probe::Probe& into, std::vector<std::string>& unknown) {
  if (action.kind == "httpGet") {
    action.collect_unknown({"path", "port", "scheme", "httpHeaders", "host", "protocol"}, unknown);
    return take_http(action, into);
  }
  if (action.kind == "grpc") {
    action.collect_unknown({"port", "service", "mode"}, unknown);
    return take_grpc(action, into);
  }
  action.collect_unknown({"port", "host"}, unknown);
  into.action = probe::TcpSocket{};
  TRY(into.host, action.text("host"));
  return absl::OkStatus();
}

}  // namespace

Result<probe::Probe> read_action(const Slot& slot, std::vector<std::string>& unknown) {
  const auto& member = *slot.original.begin();
  const json::object* fields = member.value().if_object();
  const string_view kind = view(member.key());
  if (fields == nullptr) return absl::InvalidArgumentError(fmt::format("{} is no object", kind));
  const Action action{kind, *fields};
  probe::Probe out;
  out.hook = slot.hook;
  TRY_OK(take_action(action, out, unknown));
  TRY(out.port, resolved_port(action, *slot.owner));
  const json::value* timeout = slot.hook ? nullptr : find(*slot.holder, "timeoutSeconds");
  const std::optional<uint64_t> seconds =
      timeout == nullptr ? std::nullopt : whole_number(*timeout);
  if (seconds && *seconds > 0) {
    out.timeout = std::chrono::seconds(std::min(*seconds, kMaxTimeoutSeconds));
  }
  return out;
}

}  // namespace holdfast::inject
