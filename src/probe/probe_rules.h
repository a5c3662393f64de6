// Which probes can be carried out: nothing in them may end a line of a request early, or name what
// is no host.
#pragma once

#include <string_view>

#include "base/result.h"
#include "probe/probe.h"

namespace holdfast::probe {

constexpr size_t kMaxTextBytes = 8 * 1024;  // a path, a header's value, a service
constexpr size_t kMaxHeaders = 64;

// kInvalidArgument, led by the field as a pod has it: "httpGet.path: ...".
Status check_probe(const Probe& probe);

// A header's name: letters, digits and !#$%&'*+-.^_`|~
bool is_token(std::string_view text);

// Whether two names of headers are the same, whatever their case.
bool same_name(std::string_view left, std::string_view right);

}  // namespace holdfast::probe
