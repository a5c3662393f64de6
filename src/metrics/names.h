// What a metric, its labels and their values may be called. Pure functions; the registry aborts on
// a bad name, because names are written by us, and mends a bad value, because values come from
// peers.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace holdfast::metrics {

enum class Type { Counter, Gauge, Histogram };

// kInvalidArgument, saying what to write instead, unless `name` is holdfast_ and lower-case words,
// in base units (seconds, bytes, ratio), and ends in _total exactly if it is a counter.
Status validate_name(Type type, std::string_view name);

// kInvalidArgument unless `name` is lower-case words and not one the exposition format adds itself.
Status validate_label_name(std::string_view name);

// `value` as valid UTF-8 of at most `max_bytes`: each stray byte becomes U+FFFD, the rest is cut at
// a character. One bad value would otherwise cost the whole page its reader.
std::string printable_label_value(std::string_view value, size_t max_bytes);

}  // namespace holdfast::metrics
