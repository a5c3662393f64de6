// What the operator writes in a proxy's configuration to serve someone who has no identity: naming
// a service here is the permission to connect to it.
//
//   tcp:0.0.0.0:5432=db             a port that leads to one service
//   tcp:[::]:9090=api/metrics       to one port of it, by name or number
//   sni:0.0.0.0:8443=web,api/tls    the name in the TLS hello says which of these
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace holdfast::ingress {

inline constexpr size_t kMaxServicesPerListener = 1'024;

struct ServedPort {
  std::string service{};
  std::string port{};  // name or number; empty: the first
  bool operator==(const ServedPort&) const = default;
};

struct ListenerSpec {
  enum class Kind { Tcp, Sni };
  Kind kind = Kind::Tcp;
  std::string address{};               // "0.0.0.0:5432"
  std::vector<ServedPort> services{};  // of Tcp exactly one
  bool operator==(const ListenerSpec&) const = default;
};
// kInvalidArgument, saying what to write instead.
Result<ListenerSpec> parse_listener_spec(std::string_view text);
std::string to_string(const ListenerSpec& spec);

// Which of them a name in a TLS hello means: SERVICE or SERVICE.CLUSTER; null if none.
const ServedPort* find_served(const ListenerSpec& spec, std::string_view name,
                              std::string_view cluster);

}  // namespace holdfast::ingress
