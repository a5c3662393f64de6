// Values that are one word of text: whole numbers, durations, times, enum values. Each has one
// printed form and reads back exactly.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>

#include <charconv>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace holdfast::resource {

// A value, or what is wrong with the text and what would be right.
template <typename T>
using FromText = std::expected<T, std::string>;

// Decimal digits with an optional '-': no '+', no leading zero, no fraction, no exponent. Exact
// over the whole range of Int.
template <typename Int>
FromText<Int> parse_int(std::string_view text);

// "1h30m", "250ms", "-5s": units h, m, s, ms, us, ns from large to small, each at most once. Also
// reads "d" for 24 hours.
FromText<google::protobuf::Duration> parse_duration(std::string_view text);
std::string duration_text(const google::protobuf::Duration& duration);
// Within protobuf's limits, both parts of one sign.
bool is_valid(const google::protobuf::Duration& duration);

// RFC 3339: "2026-11-16T00:00:00Z", up to nine digits of a second, any offset. Printed in UTC.
FromText<google::protobuf::Timestamp> parse_timestamp(std::string_view text);
std::string timestamp_text(const google::protobuf::Timestamp& time);
// Years 1 to 9999, nanoseconds below a second.
bool is_valid(const google::protobuf::Timestamp& time);

// The value's name in lower case without what all names of its type begin with: "http". A value
// this version does not know is its number.
std::string enum_text(const google::protobuf::EnumDescriptor& type, int number);
// The short word, the full name, or the number.
FromText<int> parse_enum(const google::protobuf::EnumDescriptor& type, std::string_view text);
// Every word one may use: "tcp, udp, http or grpc".
std::string enum_words(const google::protobuf::EnumDescriptor& type);

}  // namespace holdfast::resource
