#include "ingress/listener_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/bytes.h"
#include "base/reason.h"
#include "ingress/letter_case.h"
#include "resource/text_rules.h"

namespace holdfast::ingress {
namespace {

using std::string_view;

constexpr size_t kMaxSpecBytes = 64 << 10;
constexpr string_view kForm =
    "write tcp:ADDRESS:PORT=SERVICE[/PORT] or sni:ADDRESS:PORT=SERVICE[/PORT],...";

Status wrong(string_view text, string_view why) {
  return coded(absl::StatusCode::kInvalidArgument, "HF2306",
               fmt::format("{}: {}", in_quotes(text, 128), why));
}

// Null if it is ADDRESS:PORT with an IP address, port 0 included.
const char* address_problem(string_view address) {
  const size_t colon = address.rfind(':');
  if (colon == string_view::npos) return "the address has no port";
  string_view host = address.substr(0, colon);
  const string_view port = address.substr(colon + 1);
  uint16_t number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (error != std::errc() || end != port.data() + port.size()) {
    return "the port is not a number from 0 to 65535";
  }
  const bool bracketed = host.size() > 2 && host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);
  const bool is_ip = !resource::wrong_ip(host) && bracketed == host.contains(':');
  return is_ip ? nullptr : "the address is not an IP address, such as 0.0.0.0 or [::]";
}

Result<ServedPort> parse_served(string_view text, string_view whole) {
  const size_t slash = text.find('/');
  ServedPort served{.service = std::string(text.substr(0, slash))};
  if (const auto problem = resource::wrong_name(served.service)) {
    return wrong(whole, fmt::format("the service's name {}", *problem));
  }
  if (slash == string_view::npos) return served;
  served.port = std::string(text.substr(slash + 1));
  if (const auto problem = resource::wrong_name(served.port)) {
    return wrong(whole, fmt::format("the port's name {}", *problem));
  }
  return served;
}

Status check_services(const ListenerSpec& spec, string_view text) {
  if (spec.kind == ListenerSpec::Kind::Tcp && spec.services.size() != 1) {
    return wrong(text, "a TCP port leads to one service; use sni: for several");
  }
  if (spec.services.size() > kMaxServicesPerListener) {
    return wrong(text, fmt::format("more than {} services", kMaxServicesPerListener));
  }
  for (auto each = spec.services.begin(); each != spec.services.end(); ++each) {
    const auto same = [&](const ServedPort& other) {
      return equal_without_case(other.service, each->service);
    };
    if (std::any_of(spec.services.begin(), each, same)) {
      return wrong(text, fmt::format("{} is named twice", in_quotes(each->service)));
    }
  }
  return absl::OkStatus();
}

}  // namespace

Result<ListenerSpec> parse_listener_spec(string_view text) {
  if (text.size() > kMaxSpecBytes) return wrong(text, "is too long");
  ListenerSpec spec;
  if (text.starts_with("sni:")) {
    spec.kind = ListenerSpec::Kind::Sni;
  } else if (!text.starts_with("tcp:")) {
    return wrong(text, kForm);
  }
  const size_t equals = text.find('=');
  if (equals == string_view::npos) return wrong(text, kForm);
  spec.address = std::string(text.substr(4, equals - 4));
  if (const char* problem = address_problem(spec.address)) return wrong(text, problem);
  string_view rest = text.substr(equals + 1);
  for (bool more = true; more && spec.services.size() <= kMaxServicesPerListener;) {
    const size_t comma = rest.find(',');
    TRY(ServedPort served, parse_served(rest.substr(0, comma), text));
    spec.services.push_back(std::move(served));
    more = comma != string_view::npos;
    if (more) rest.remove_prefix(comma + 1);
  }
  TRY_OK(check_services(spec, text));
  return spec;
}

std::string to_string(const ListenerSpec& spec) {
  std::string out =
      fmt::format("{}:{}", spec.kind == ListenerSpec::Kind::Tcp ? "tcp" : "sni", spec.address);
  char before = '=';
  for (const ServedPort& each : spec.services) {
    out += before + each.service;
    if (!each.port.empty()) out += '/' + each.port;
    before = ',';
  }
  return out;
}

const ServedPort* find_served(const ListenerSpec& spec, string_view name, string_view cluster) {
  for (const string_view tail : {string_view(), cluster}) {
    const auto is_meant = [&](const ServedPort& each) {
      return equal_without_case(
          tail.empty() ? each.service : fmt::format("{}.{}", each.service, tail), name);
    };
    const auto found = std::ranges::find_if(spec.services, is_meant);
    if (found != spec.services.end()) return &*found;
  }
  return nullptr;
}

}  // namespace holdfast::ingress
