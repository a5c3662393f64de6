// holdfast connect: a connection to a service through a proxy, by the user's certificate.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "cli/errors.h"
#include "cli/proxy_route.h"
#include "cli/session.h"

namespace holdfast::cli {

struct ConnectOptions {
  std::string target{};                // SERVICE[:PORT]; none with `socks`
  std::vector<std::string> proxies{};  // HOST:PORT each; none: those the controllers know
  std::string listen{};                // takes connections there instead of standard input
  std::string socks{};                 // likewise, by SOCKS5: names of hosts are services
  bool allow_remote = false;           // whoever reaches that address uses the user's identity
};
Exit connect(const Console& console, const Connection& connection, const ConnectOptions& options);

// "web", "web:80", "web:metrics". Exit::Usage.
std::expected<WantedService, Failure> parse_wanted(std::string_view target);

}  // namespace holdfast::cli
