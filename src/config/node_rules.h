// What agents and proxies are told, as text in a configuration. As in
// resource/text_rules.h, a rule returns what is wrong with the text, or nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace holdfast::config {

// "HOST:PORT" of a controller.
std::optional<std::string> wrong_server(std::string_view server);
// "SERVICE[/PORT]=TARGET": HOST:PORT, http://HOST:PORT or unix:/PATH.
std::optional<std::string> wrong_exposure(std::string_view exposure);
// "SERVICE[/PORT]", the left side of an exposure.
std::optional<std::string> wrong_check_name(std::string_view name);
// "KEY=VALUE"; keys that begin with "holdfast." are the cluster's own.
std::optional<std::string> wrong_label(std::string_view label);
// "tcp:IP:PORT=SERVICE[/PORT]", "sni:IP:PORT=SERVICE[/PORT],…", or one more service of the one
// before it.
std::optional<std::string> wrong_ingress(std::string_view spec);

// An absolute path.
std::optional<std::string> wrong_folder(std::string_view path);

// "tcp:0.0.0.0:5432=db" listens on "0.0.0.0:5432"; empty for a service that goes on the list
// before.
std::string_view ingress_address(std::string_view spec);

}  // namespace holdfast::config
