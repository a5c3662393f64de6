#include "probe/probe_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"

namespace holdfast::probe {
namespace {

using std::string_view;

constexpr size_t kLongestHost = 253;

char to_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

Status wrong(string_view field, string_view what) {
  return absl::InvalidArgumentError(fmt::format("{}: {}", field, what));
}

Status check_length(string_view field, string_view text) {
  if (text.size() <= kMaxTextBytes) return absl::OkStatus();
  return wrong(field, fmt::format("longer than {} bytes", kMaxTextBytes));
}

bool is_header_value(string_view text) {
  return std::ranges::none_of(text,
                              [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7f; });
}

Status check_header(size_t index, const Header& header) {
  const std::string field = fmt::format("httpGet.httpHeaders[{}]", index);
  if (!is_token(header.name)) {
    return wrong(field + ".name", fmt::format("{} is no name of a header", in_quotes(header.name)));
  }
  if (!is_header_value(header.value)) {
    return wrong(field + ".value", "holds a control character");
  }
  TRY_OK(check_length(field + ".name", header.name));
  return check_length(field + ".value", header.value);
}

Status check_http(const Probe& probe, const HttpGet& http) {
  TRY_OK(check_length("httpGet.path", http.path));
  if (std::ranges::any_of(http.path, [](unsigned char c) { return c < 0x20 || c == 0x7f; })) {
    return wrong("httpGet.path", "holds a control character");
  }
  if (http.h2c && http.tls) return wrong("httpGet.protocol", "HTTP2 is only for scheme HTTP");
  if (http.h2c && !probe.host.empty()) {
    return wrong("httpGet.protocol", "HTTP2 is only without a host");
  }
  if (http.headers.size() > kMaxHeaders) {
    return wrong("httpGet.httpHeaders", fmt::format("more than {}", kMaxHeaders));
  }
  for (size_t i = 0; i < http.headers.size(); ++i) TRY_OK(check_header(i, http.headers[i]));
  return absl::OkStatus();
}

Status check_host(string_view action, string_view host) {
  const bool fits = host.size() <= kLongestHost && std::ranges::all_of(host, [](char c) {
                      return is_letter_or_digit(c) || string_view("-._:").contains(c);
                    });
  if (fits) return absl::OkStatus();
  return wrong(fmt::format("{}.host", action),
               fmt::format("{} is no name and no address", in_quotes(host)));
}

}  // namespace

bool is_token(string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return is_letter_or_digit(c) || string_view("!#$%&'*+-.^_`|~").contains(c);
  });
}

bool same_name(string_view left, string_view right) {
  return std::ranges::equal(left, right, [](char a, char b) { return to_lower(a) == to_lower(b); });
}

Status check_probe(const Probe& probe) {
  const auto* http = std::get_if<HttpGet>(&probe.action);
  const auto* grpc = std::get_if<Grpc>(&probe.action);
  const string_view action = http != nullptr ? "httpGet" : grpc != nullptr ? "grpc" : "tcpSocket";
  if (probe.port == 0) return wrong(fmt::format("{}.port", action), "not in 1..65535");
  TRY_OK(check_host(action, probe.host));
  if (probe.timeout <= Duration::zero()) return wrong("timeoutSeconds", "not above 0");
  if (probe.hook && http == nullptr) return wrong("hook", "only an httpGet can be one");
  if (http != nullptr) return check_http(probe, *http);
  if (grpc == nullptr) return absl::OkStatus();
  if (first_invalid_utf8(grpc->service)) return wrong("grpc.service", "is not UTF-8");
  return check_length("grpc.service", grpc->service);
}

}  // namespace holdfast::probe
