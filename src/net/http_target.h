// What a request line asks for: the path as decoded segments, the query as decoded pairs. Pure.
//
//   /v1/service/web%2D1?label=tier%3Dfront&verbose  ─►  {v1, service, web-1}
//                                                       {label: tier=front}, {verbose: ""}
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace holdfast::net {

struct HttpTarget {
  // "/" has none; an empty one at the end ("/v1/") is left out.
  std::vector<std::string> segments{};
  std::vector<std::pair<std::string, std::string>> query{};  // in order, names may repeat
  bool ends_with_slash = false;
};

struct HttpTargetLimits {
  size_t max_segments = 16;
  size_t max_parameters = 128;
};

// kInvalidArgument if a part is not percent-encoded right, is not UTF-8 or holds a control
// character, or if a segment is empty, is "." or "..", or holds a slash or backslash.
Result<HttpTarget> parse_target(std::string_view target, const HttpTargetLimits& limits = {});

// Percent-decoding; absent for a '%' without two hex digits.
std::optional<std::string> percent_decode(std::string_view text);

}  // namespace holdfast::net
