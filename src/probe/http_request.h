// The request of an HTTP probe: which headers it has, and its bytes in HTTP/1.1.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "probe/h2_exchange.h"
#include "probe/http_hop.h"
#include "probe/probe.h"

namespace holdfast::probe {

// All but Host and our own Connection, in the order they are sent: User-Agent, Accept, the probe's
// own. The probe's own User-Agent and Accept replace ours, and are left out if they are empty.
// Views into the arguments, whose names are as the probe has them.
struct HeaderView {
  std::string_view name;
  std::string_view value;
};
std::vector<HeaderView> request_headers(const HttpGet& http, const Hop& hop,
                                        std::string_view user_agent);

// "GET /healthz HTTP/1.1" and so on, names written as Go writes them: "X-Probe-Id". It ends with
// "Connection: close", also behind a Connection of the probe's own, unless that says it or, beside
// Upgrade, "upgrade".
std::string http1_request(const HttpGet& http, const Hop& hop, std::string_view user_agent);

// The same in HTTP/2, which has no headers about connections.
H2Request http2_request(const HttpGet& http, const Hop& hop, std::string_view user_agent);

}  // namespace holdfast::probe
