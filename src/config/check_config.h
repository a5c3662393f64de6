// How an agent finds out whether what it exposes works: `agent.checks`, a mapping from the left
// side of a line of agent.services to a check. In the environment and flags the same as JSON.
//
//   web: {http: {path: /healthz, headers: {Host: shop}}, period: 2s}
//   api/admin: {http: /ready, port: 9090}     a path alone; another port of the target's host
//   cart: {grpc: {service: shop.Cart, tls: true}}
//   db: tcp                                   a kind alone
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "resource/node.h"

namespace holdfast::config {

struct CheckConfig {
  enum class Kind : uint8_t { Http, Tcp, Grpc };

  Kind kind = Kind::Tcp;
  std::string path = "/";                                      // of http
  std::vector<std::pair<std::string, std::string>> headers{};  // of http, in order
  std::string service{};                                       // of grpc
  bool tls = false;                                            // of http and grpc; unverified
  uint16_t port = 0;                                           // 0: the target's
  Duration initial_delay{0};
  Duration period = std::chrono::seconds(5);
  Duration timeout = std::chrono::seconds(1);
  uint32_t failure_threshold = 3;
  uint32_t success_threshold = 1;
  bool operator==(const CheckConfig&) const = default;
};
using CheckConfigs = std::map<std::string, CheckConfig, std::less<>>;

struct CheckConfigsReading {
  CheckConfigs checks;
  // Everything that is wrong; `checks` counts only if this is empty. Otherwise it has what each
  // check would be without that, so that the rest can be looked at.
  std::vector<resource::ParseError> errors;
};

// Strict JSON, at most 64 KiB.
CheckConfigsReading parse_checks(std::string_view json);
CheckConfigsReading read_checks(const resource::Node& node);

// One line of JSON that reads back the same; empty if there are none.
std::string checks_json(const CheckConfigs& checks);

}  // namespace holdfast::config
