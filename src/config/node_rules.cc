#include "config/node_rules.h"

#include <fmt/format.h>

#include <vector>

#include "base/bytes.h"
#include "config/addresses.h"
#include "config/config.h"
#include "resource/text_rules.h"

namespace holdfast::config {
namespace {

using std::string_view;

constexpr size_t kMaxSocketPathBytes = 107;  // of the kernel

bool is_service(string_view text) {
  const size_t slash = text.find('/');
  if (slash == string_view::npos) return !resource::wrong_name(text);
  return !resource::wrong_name(text.substr(0, slash)) &&
         !resource::wrong_name(text.substr(slash + 1));
}

bool is_target(string_view target) {
  if (target.starts_with("unix:")) {
    const string_view path = target.substr(5);
    return path.starts_with('/') && path.size() > 1 && path.size() <= kMaxSocketPathBytes;
  }
  if (target.starts_with("http://")) target.remove_prefix(7);
  return !resource::wrong_address(target);
}

bool is_scheme(string_view spec) {
  return spec.starts_with("tcp:") || spec.starts_with("sni:");
}

bool are_services(string_view names, bool many) {
  for (;;) {
    const size_t comma = many ? names.find(',') : string_view::npos;
    if (!is_service(names.substr(0, comma))) return false;
    if (comma == string_view::npos) return true;
    names.remove_prefix(comma + 1);
  }
}

}  // namespace

std::optional<std::string> wrong_server(string_view server) {
  if (!resource::wrong_address(server)) return std::nullopt;
  return fmt::format("{}: {}; use HOST:PORT, as HOST:7443", in_quotes(server),
                     server.contains(':') ? "not a controller's address" : "has no port");
}

std::optional<std::string> wrong_exposure(string_view exposure) {
  const size_t equals = exposure.find('=');
  if (equals != string_view::npos && is_service(exposure.substr(0, equals)) &&
      is_target(exposure.substr(equals + 1))) {
    return std::nullopt;
  }
  return fmt::format(
      "{} is not SERVICE[/PORT]=TARGET; use one such as web=127.0.0.1:8080, "
      "api/metrics=http://127.0.0.1:9090 or db=unix:/run/pg.sock",
      in_quotes(exposure));
}

std::optional<std::string> wrong_check_name(string_view name) {
  if (is_service(name)) return std::nullopt;
  return fmt::format("{} is not SERVICE[/PORT]; use what stands before \"=\" in agent.services",
                     in_quotes(name));
}

std::optional<std::string> wrong_label(string_view label) {
  const size_t equals = label.find('=');
  if (equals == string_view::npos) {
    return fmt::format("{} is not KEY=VALUE; use one such as app=shop", in_quotes(label));
  }
  const string_view key = label.substr(0, equals);
  if (key.starts_with("holdfast.")) {
    return fmt::format("{} is the cluster's to say; use a key without \"holdfast.\"",
                       in_quotes(key));
  }
  if (auto wrong = resource::wrong_label_key(key)) return wrong;
  return resource::wrong_label_value(label.substr(equals + 1));
}

std::optional<std::string> wrong_ingress(string_view spec) {
  const bool is_sni = spec.starts_with("sni:");
  const size_t equals = spec.find('=');
  if (is_scheme(spec) && equals != string_view::npos) {
    if (auto wrong = wrong_listen_address(ingress_address(spec))) return wrong;
    if (are_services(spec.substr(equals + 1), is_sni)) return std::nullopt;
  }
  if (!is_scheme(spec) && is_service(spec)) return std::nullopt;
  return fmt::format(
      "{} is not a listener; use one such as tcp:0.0.0.0:5432=db or sni:0.0.0.0:8443=web,api",
      in_quotes(spec));
}

std::optional<std::string> wrong_folder(string_view path) {
  if (path.starts_with('/')) return std::nullopt;
  return fmt::format("{} is not an absolute path; begin with \"/\"", in_quotes(path));
}

string_view ingress_address(string_view spec) {
  if (!is_scheme(spec)) return {};
  spec.remove_prefix(4);
  return spec.substr(0, spec.find('='));
}

std::vector<std::string> ingress_specs(const std::vector<std::string>& written) {
  std::vector<std::string> specs;
  for (const std::string& one : written) {
    if (is_scheme(one) || specs.empty()) {
      specs.push_back(one);
    } else {
      specs.back() += "," + one;
    }
  }
  return specs;
}

}  // namespace holdfast::config
