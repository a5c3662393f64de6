#include "probe/http_hop.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "net/http_address.h"
#include "probe/probe_path.h"
#include "probe/probe_rules.h"

namespace holdfast::probe {
namespace {

using std::string_view;

// The parts of a URL or of a reference to one, as RFC 3986 cuts them.
struct Url {
  std::optional<std::string> scheme{};
  std::optional<string_view> authority{};
  string_view path{};
  string_view query{};  // with its question mark
};

bool is_scheme(string_view text) {
  const auto is_letter = [](char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; };
  return !text.empty() && is_letter(text.front()) && std::ranges::all_of(text, [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || string_view("+-.").contains(c);
  });
}

Url cut(string_view text) {
  Url url;
  text = text.substr(0, text.find('#'));
  const size_t colon = text.find_first_of(":/?");
  if (colon != string_view::npos && text[colon] == ':' && is_scheme(text.substr(0, colon))) {
    url.scheme = std::string(text.substr(0, colon));
    std::ranges::transform(*url.scheme, url.scheme->begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    });
    text.remove_prefix(colon + 1);
  }
  const size_t mark = std::min(text.find('?'), text.size());
  url.query = text.substr(mark);
  url.path = text.substr(0, mark);
  if (!url.path.starts_with("//")) return url;
  url.path.remove_prefix(2);
  const size_t slash = std::min(url.path.find('/'), url.path.size());
  url.authority = url.path.substr(0, slash);
  url.path.remove_prefix(slash);
  return url;
}

// "/a/./b/../c" is "/a/c"; nothing climbs above the root.
std::string without_dots(string_view path) {
  std::string out;
  while (!path.empty()) {
    if (path.front() == '/') path.remove_prefix(1);
    const size_t end = std::min(path.find('/'), path.size());
    const string_view part = path.substr(0, end);
    path.remove_prefix(end);
    if (part == "..") out.resize(out.empty() ? 0 : out.rfind('/'));
    const bool dots = part == "." || part == "..";
    if (!dots) out.append("/").append(part);
    if (dots && path.empty()) out += '/';
  }
  return out.empty() ? "/" : out;
}

std::string resolved_path(string_view base_target, const Url& to) {
  const string_view base = base_target.substr(0, base_target.find('?'));
  if (to.authority) return without_dots(to.path) + std::string(to.query);
  if (to.path.empty() && to.query.empty()) return std::string(base_target);
  if (to.path.empty()) return std::string(base) + std::string(to.query);
  if (to.path.starts_with('/')) return without_dots(to.path) + std::string(to.query);
  std::string joined(base.substr(0, base.rfind('/') + 1));
  joined += to.path;
  return without_dots(joined) + std::string(to.query);
}

Status no_url() {
  return absl::InvalidArgumentError("its redirect leads to no URL");
}

bool is_host_text(string_view host) {
  return std::ranges::all_of(host, [](char c) {
    return c > ' ' && c < 0x7f && !string_view("\"<>\\^`{|}[]").contains(c);
  });
}

// "host", "host:80", "[::1]:80", "user@host": into the hop's authority, host and port.
Status take_authority(string_view text, Hop& hop) {
  if (const size_t at = text.rfind('@'); at != string_view::npos) text.remove_prefix(at + 1);
  hop.authority = text;
  string_view port;
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == string_view::npos) return no_url();
    hop.host = text.substr(1, end - 1);
    port = text.substr(end + 1);
  } else {
    const size_t colon = std::min(text.find(':'), text.size());
    hop.host = text.substr(0, colon);
    port = text.substr(colon);
  }
  hop.port = hop.tls ? 443 : 80;
  if (!is_host_text(hop.host)) return no_url();
  if (port.empty() || port == ":") return absl::OkStatus();
  const char* const end = port.data() + port.size();
  const auto [stop, error] = std::from_chars(port.data() + 1, end, hop.port);
  const bool fits = port.front() == ':' && error == std::errc() && stop == end && hop.port != 0;
  return fits ? absl::OkStatus() : no_url();
}

// The kubelet reads the path as a URL and then puts its own scheme, host and port into it: those
// that the path names are gone, and "//a/b" is asked for as "/b". What is no URL stays as it is.
std::string without_origin(string_view path) {
  const Url url = cut(path);
  const bool names = url.scheme ? url.authority || url.path.starts_with('/')
                                : url.authority && !path.starts_with("///");
  Hop ignored;
  const bool reads = names && can_be_url(path) && !url.authority.value_or("").contains('%') &&
                     take_authority(url.authority.value_or(""), ignored).ok();
  return reads ? std::string(url.path).append(url.query) : std::string(path);
}

}  // namespace

Hop first_hop(const Probe& probe, const HttpGet& http, string_view address) {
  Hop hop;
  hop.tls = http.tls;
  hop.host = probe.host.empty() ? std::string(address) : probe.host;
  hop.port = probe.port;
  hop.authority = net::join_host_port(hop.host, std::to_string(probe.port));
  hop.target = request_target(without_origin(http.path));
  for (const Header& header : http.headers) {
    if (!same_name(header.name, "host")) continue;
    hop.own_host = header.value;  // the first of several
    break;
  }
  return hop;
}

Result<std::optional<Hop>> next_hop(const Hop& now, string_view location) {
  if (std::ranges::any_of(location, [](unsigned char c) { return c < 0x20 || c == 0x7f; })) {
    return no_url();
  }
  const Url to = cut(location);
  Hop next;
  next.tls = to.scheme ? *to.scheme == "https" : now.tls;
  next.host = now.host;
  next.port = now.port;
  next.authority = now.authority;
  if (to.scheme || to.authority) TRY_OK(take_authority(to.authority.value_or(""), next));
  if (next.host != now.host) return std::nullopt;
  if (to.scheme && *to.scheme != "http" && *to.scheme != "https") return no_url();
  next.target = request_target(resolved_path(now.target, to));
  // A relative redirect stays with the virtual host that was asked for; an absolute one names its
  // own.
  if (!to.scheme) next.own_host = now.own_host;
  if (next.tls || !now.tls) {
    next.referer = fmt::format("{}://{}{}", now.tls ? "https" : "http", now.authority, now.target);
  }
  return next;
}

}  // namespace holdfast::probe
