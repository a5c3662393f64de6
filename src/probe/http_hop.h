// Where one request of an HTTP probe goes. A probe has several if the application redirects it to
// itself: the kubelet follows as long as the host stays the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "probe/probe.h"

namespace holdfast::probe {

struct Hop {
  bool tls = false;
  std::string host{};  // to connect to, without brackets
  uint16_t port = 0;
  std::string authority{};  // as its URL has it: "10.0.0.7:8080", "[::1]:8080"
  std::string target{};     // path and query
  std::string own_host{};   // the Host that the probe's headers ask for; empty: the authority
  std::string referer{};    // of a redirect: where it comes from
  bool operator==(const Hop&) const = default;
};

// `address` is the pod's own, for a probe without a host.
Hop first_hop(const Probe& probe, const HttpGet& http, std::string_view address);

// Where a Location leads, seen from `now`; kInvalidArgument if that is no URL, or none of HTTP.
// Nothing if it leads to a host that is not, letter for letter, the one this came from.
Result<std::optional<Hop>> next_hop(const Hop& now, std::string_view location);

}  // namespace holdfast::probe
