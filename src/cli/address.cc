#include "cli/address.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/bytes.h"
#include "resource/scalar_text.h"

namespace holdfast::cli {
namespace {

constexpr size_t kMaxAddresses = 16;
constexpr size_t kLongestHost = 253;
constexpr size_t kLongestSocketPath = 107;  // what a unix address holds
constexpr std::string_view kUnix = "unix:";

std::unexpected<Failure> wrong_address(std::string_view text, std::string_view what) {
  return std::unexpected(
      Failure{Exit::Usage, "HF6010",
              fmt::format("{} is not a controller's address: {}", in_quotes(text, 256), what),
              "use unix:/PATH for a controller on this machine, or HOST:PORT"});
}

bool is_host(std::string_view host, std::string_view also) {
  return std::ranges::all_of(host, [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || also.contains(c);
  });
}

std::expected<Address, Failure> parse_unix(std::string_view text) {
  std::string_view path = text.substr(kUnix.size());
  if (path.starts_with("//")) path.remove_prefix(2);
  if (path.empty()) return wrong_address(text, "the path of its socket is missing");
  if (path.size() > kLongestSocketPath) {
    return wrong_address(text,
                         fmt::format("a socket's path has at most {} bytes", kLongestSocketPath));
  }
  if (path.contains('\0')) return wrong_address(text, "a path holds no zero byte");
  return Address{.unix_path = std::string(path)};
}

}  // namespace

std::string Address::text() const {
  if (is_unix()) return fmt::format("unix:{}", unix_path);
  return host.contains(':') ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

std::expected<Address, Failure> parse_address(std::string_view text) {
  if (text.starts_with(kUnix)) return parse_unix(text);
  if (text.contains("://")) return wrong_address(text, "leave out the scheme");
  if (!text.starts_with('[') && std::ranges::count(text, ':') > 1) {
    return wrong_address(text, "an IPv6 address stands in brackets, as [::1]:7443");
  }
  const bool bracketed = text.starts_with('[');
  const size_t host_end = bracketed ? text.find(']') : std::min(text.find(':'), text.size());
  if (host_end == std::string_view::npos) return wrong_address(text, "the ] is missing");
  const std::string_view host = bracketed ? text.substr(1, host_end - 1) : text.substr(0, host_end);
  std::string_view rest = text.substr(host_end + (bracketed ? 1 : 0));
  if (host.empty()) return wrong_address(text, "the host is missing");
  if (host.size() > kLongestHost) return wrong_address(text, "the host is too long");
  if (!is_host(host, bracketed ? ":.%" : ".-_"))
    return wrong_address(text, "that is no host's name");
  if (rest.empty()) return Address{.host = std::string(host), .port = kDefaultPort};
  if (!rest.starts_with(':')) return wrong_address(text, "a port follows the host after a colon");
  rest.remove_prefix(1);
  const auto port = resource::parse_int<uint32_t>(rest);
  if (!port || *port == 0 || *port > 65535) {
    return wrong_address(text, fmt::format("{} is not a port; use 1 to 65535", in_quotes(rest)));
  }
  return Address{.host = std::string(host), .port = static_cast<uint16_t>(*port)};
}

std::expected<Addresses, Failure> parse_addresses(std::string_view text) {
  Addresses all;
  size_t count = 0;
  for (size_t at = 0; at <= text.size(); ++count) {
    const size_t comma = std::min(text.find(',', at), text.size());
    const auto one = parse_address(text.substr(at, comma - at));
    if (!one) return std::unexpected(one.error());
    if (count > 0 && one->is_unix() != all.is_unix) {
      return wrong_address(text, "sockets on this machine and hosts do not go together");
    }
    if (count == kMaxAddresses) return wrong_address(text, "there are more than 16");
    all.is_unix = one->is_unix();
    all.text += (all.text.empty() ? "" : ",") + one->text();
    all.each.push_back(*one);
    at = comma + 1;
  }
  return all;
}

}  // namespace holdfast::cli
