// How a probe is written in a request line: the target an application is asked for, and the path
// the probe has on the handler's port. Both as Go's URLs have them, which is what the kubelet uses.
#pragma once

#include <string>
#include <string_view>

#include "probe/probe.h"

namespace holdfast::probe {

// Whether Go reads it as a URL: no control characters, and what is percent-encoded is well so.
bool can_be_url(std::string_view path);

// The path and query of an httpGet as the kubelet sends them: byte for byte if they may stand in a
// URL ("/a%2Fb//c?x=1"); with a slash before it if it has none; else with what may not stand there
// percent-encoded. A fragment is left out. Of a path that names a host ("//a/b"), which the kubelet
// leaves out as well, first_hop() does.
std::string request_target(std::string_view path);

// Everything but letters, digits and "-._~" percent-encoded.
std::string percent_encode(std::string_view text);

// "/8080/healthz", "/tcp/6379", "/grpc/6852/liveness", "/hook/8080/stop"; with a number above 1,
// which tells probes apart that would have the same, "/8080~2/healthz".
std::string handler_path(const Probe& probe, size_t number);

}  // namespace holdfast::probe
