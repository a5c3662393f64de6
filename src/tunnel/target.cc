#include "tunnel/target.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "base/reason.h"
#include "resource/text_rules.h"

namespace holdfast::tunnel {
namespace {

using std::string_view;

constexpr string_view kWrongTarget = "HF2120";
constexpr string_view kRight =
    "write SERVICE=HOST:PORT, such as \"web=127.0.0.1:8080\", or SERVICE=unix:/PATH";
constexpr string_view kUnix = "unix:";
constexpr string_view kHttp = "http://";

Status wrong(string_view line, string_view what) {
  return coded(absl::StatusCode::kInvalidArgument, kWrongTarget,
               fmt::format("service {} {}", in_quotes(line, 128), what));
}

Result<Target> parse_unix(string_view line, string_view path) {
  constexpr size_t kMaxPathBytes = 107;  // what the kernel has room for
  if (!path.starts_with('/')) {
    return wrong(line, fmt::format("names the socket {}, which is no whole path; write "
                                   "unix:/PATH such as \"unix:/run/app.sock\"",
                                   in_quotes(path)));
  }
  if (path.size() > kMaxPathBytes || path.contains('\0')) {
    return wrong(line, fmt::format("names a socket of {} bytes; a path has at most {}, none of "
                                   "them zero",
                                   path.size(), kMaxPathBytes));
  }
  return Target{.unix_path = std::string(path)};
}

// Requires: resource::wrong_address() finds nothing wrong.
Target split_address(string_view address) {
  const size_t colon = address.rfind(':');
  string_view host = address.substr(0, colon);
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  const string_view digits = address.substr(colon + 1);
  Target target{.host = std::string(host)};
  std::from_chars(digits.data(), digits.data() + digits.size(), target.port);
  return target;
}

Result<Target> parse_target(string_view line, string_view text) {
  if (text.empty()) return wrong(line, fmt::format("names no target; {}", kRight));
  if (text.starts_with(kUnix)) return parse_unix(line, text.substr(kUnix.size()));
  if (text.starts_with('/')) {
    return wrong(line, fmt::format("names the target {}; did you mean unix:{}?", in_quotes(text),
                                   in_quotes(text)));
  }
  if (text.starts_with("https://")) {
    return wrong(line,
                 "names an https target; bytes are passed on as they are, so write HOST:PORT and "
                 "let clients speak TLS to it");
  }
  if (text.starts_with(kHttp)) {
    text.remove_prefix(kHttp.size());
    if (text.ends_with('/')) text.remove_suffix(1);
    if (text.contains('/')) {
      return wrong(line, "names a path; requests keep their own, so write http://HOST:PORT");
    }
  }
  const std::optional<std::string> what = resource::wrong_address(text);
  if (what) return wrong(line, fmt::format("names a target that {}", *what));
  return split_address(text);
}

bool is_number(string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == string_view::npos;
}

// What is wrong with a port's name or number, if anything.
std::optional<std::string> wrong_port(string_view port) {
  if (!is_number(port)) return resource::wrong_name(port);
  uint16_t number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  const bool whole = error == std::errc() && end == port.data() + port.size();
  if (whole && number > 0 && !port.starts_with('0')) return std::nullopt;
  return fmt::format("{} is not 1 to 65535", in_quotes(port, 16));
}

bool names(const v1::ServicePort& known, string_view port) {
  return is_number(port) ? port == std::to_string(known.port()) : port == known.name();
}

// Which of the service's ports was asked for.
std::optional<int> position(const v1::Service& service, string_view port) {
  if (port.empty()) return 0;
  for (int at = 0; at < service.ports_size(); ++at) {
    if (names(service.ports(at), port)) return at;
  }
  return std::nullopt;
}

}  // namespace

std::string to_string(const Target& target) {
  if (target.host.empty()) return fmt::format("{}{}", kUnix, target.unix_path);
  if (target.host.contains(':')) return fmt::format("[{}]:{}", target.host, target.port);
  return fmt::format("{}:{}", target.host, target.port);
}

Result<TargetTable> TargetTable::parse(std::span<const std::string> lines) {
  if (lines.size() > kMaxTargets) {
    return coded(absl::StatusCode::kInvalidArgument, kWrongTarget,
                 fmt::format("{} services are named; an agent carries at most {}", lines.size(),
                             kMaxTargets));
  }
  TargetTable table;
  for (const std::string& line : lines) TRY_OK(table.add(line));
  return table;
}

Status TargetTable::add(const std::string& line) {
  if (line.size() > kMaxTargetLineBytes) {
    return wrong(line,
                 fmt::format("is {} bytes long; use at most {}", line.size(), kMaxTargetLineBytes));
  }
  const string_view text = line;
  const size_t equals = text.find('=');
  if (equals == string_view::npos) return wrong(line, fmt::format("has no '='; {}", kRight));
  const string_view left = text.substr(0, equals);
  const size_t slash = left.find('/');
  const string_view service = left.substr(0, slash);
  const string_view port = slash == string_view::npos ? "" : left.substr(slash + 1);
  if (const auto what = resource::wrong_name(service)) {
    return wrong(line, fmt::format("has a name that {}", *what));
  }
  if (slash != string_view::npos) {
    if (const auto what = wrong_port(port)) {
      return wrong(line, fmt::format("has a port that {}; write SERVICE/PORT=TARGET with a port's "
                                     "name or number, or no \"/\" for the first port",
                                     *what));
    }
  }
  TRY(Target target, parse_target(line, text.substr(equals + 1)));
  Ports& ports = services_[std::string(service)];
  const auto [found, added] = ports.try_emplace(std::string(port), std::move(target));
  if (added) return absl::OkStatus();
  return wrong(line, fmt::format("comes a second time: {} is {} already; name each once, or "
                                 "another port of it as \"{}/PORT=TARGET\"",
                                 left, to_string(found->second), service));
}

const Target* TargetTable::find(string_view service, string_view port,
                                const v1::Service* known) const {
  const auto found = services_.find(service);
  if (found == services_.end()) return nullptr;
  const Ports& ports = found->second;
  const auto line = [&](string_view named) -> const Target* {
    const auto at = ports.find(named);
    return at == ports.end() ? nullptr : &at->second;
  };
  if (known == nullptr || known->ports_size() == 0) {
    if (const Target* exact = line(port)) return exact;
    // One line is all there is: it is what can be meant.
    if (port.empty()) return ports.size() == 1 ? &ports.begin()->second : nullptr;
    return ports.size() == 1 && !wrong_port(port) ? line("") : nullptr;
  }
  const std::optional<int> at = position(*known, port);
  if (!at) return nullptr;
  const v1::ServicePort& meant = known->ports(*at);
  if (const Target* by_name = meant.name().empty() ? nullptr : line(meant.name())) return by_name;
  if (const Target* by_number = line(std::to_string(meant.port()))) return by_number;
  return *at == 0 ? line("") : nullptr;
}

std::vector<std::string> TargetTable::services() const {
  std::vector<std::string> names;
  for (const auto& [service, ports] : services_) names.push_back(service);
  return names;
}

size_t TargetTable::size() const {
  size_t lines = 0;
  for (const auto& [service, ports] : services_) lines += ports.size();
  return lines;
}

}  // namespace holdfast::tunnel
