#include "probe/grpc_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace holdfast::probe {
namespace {

using std::string_view;

constexpr string_view kHealth[] = {"UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"};
constexpr uint64_t kServing = 1;

constexpr string_view kCodes[] = {
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED"};
constexpr int kUnimplemented = 12;

void append_varint(std::string& out, uint64_t number) {
  for (; number >= 0x80; number >>= 7) out += static_cast<char>(number | 0x80);
  out += static_cast<char>(number);
}

std::optional<uint64_t> take_varint(string_view& bytes) {
  uint64_t number = 0;
  for (int shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    number |= uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return number;
  }
  return std::nullopt;
}

// Over a field of this wire type; false if it is not there.
bool skip(string_view& bytes, uint64_t type) {
  std::optional<uint64_t> size = type == 1 ? 8 : type == 5 ? 4 : 0;
  if (type == 0) return take_varint(bytes).has_value();
  if (type == 2) size = take_varint(bytes);
  const bool known = type == 1 || type == 2 || type == 5;
  if (!known || !size || *size > bytes.size()) return false;
  bytes.remove_prefix(*size);
  return true;
}

// HealthCheckResponse: field 1 is the status, the last one counts.
std::optional<uint64_t> health_of(string_view message) {
  uint64_t status = 0;
  while (!message.empty()) {
    const std::optional<uint64_t> tag = take_varint(message);
    if (!tag || *tag >> 3 == 0) return std::nullopt;
    if (*tag == (1 << 3)) {
      const std::optional<uint64_t> value = take_varint(message);
      if (!value) return std::nullopt;
      status = *value;
    } else if (!skip(message, *tag & 7)) {
      return std::nullopt;
    }
  }
  return status;
}

// The message of an answer; absent unless it is one, whole and not compressed.
std::optional<string_view> message_of(string_view body) {
  if (body.size() < 5 || body[0] != 0) return std::nullopt;
  uint32_t size = 0;
  for (const char c : body.substr(1, 4)) size = size << 8 | static_cast<unsigned char>(c);
  if (body.size() != 5 + size_t{size}) return std::nullopt;
  return body.substr(5);
}

Outcome wrong_answer(string_view what) {
  return {.reason = fmt::format("HF7004: {}", what)};
}

Outcome judge_call(string_view grpc_status) {
  int code = -1;
  const char* const end = grpc_status.data() + grpc_status.size();
  const auto [stop, error] = std::from_chars(grpc_status.data(), end, code);
  if (error != std::errc() || stop != end || code < 0) return wrong_answer("no status of gRPC");
  const auto index = static_cast<size_t>(code);
  const string_view name = index < std::size(kCodes) ? kCodes[index] : string_view("code");
  const string_view more = code == kUnimplemented ? ": it has no gRPC health service" : "";
  return {.code = code,
          .code_of = CodeOf::GrpcCall,
          .reason = fmt::format("HF7003: gRPC {} ({}){}", name, code, more)};
}

}  // namespace

std::string frame_message(string_view message) {
  std::string out(1, '\0');
  for (int shift = 24; shift >= 0; shift -= 8) {
    out += static_cast<char>(message.size() >> shift & 0xff);
  }
  out += message;
  return out;
}

std::string timeout_text(Duration left) {
  constexpr int64_t kMax = 99'999'999;
  constexpr std::pair<char, int64_t> kUnits[] = {{'n', 1},
                                                 {'u', 1'000},
                                                 {'m', 1'000'000},
                                                 {'S', 1'000'000'000},
                                                 {'M', 60'000'000'000},
                                                 {'H', 3'600'000'000'000}};
  const int64_t whole = std::max<int64_t>(left.count(), 0);
  for (const auto& [letter, size] : kUnits) {
    const int64_t count = whole / size + (whole % size > 0 ? 1 : 0);
    if (count <= kMax) return fmt::format("{}{}", count, letter);
  }
  return fmt::format("{}H", kMax);
}

string_view health_name(int status) {
  const bool known = status >= 0 && static_cast<size_t>(status) < std::size(kHealth);
  return known ? kHealth[status] : string_view();
}

H2Request health_request(const Grpc& grpc, const GrpcCall& call) {
  std::string message;
  if (!grpc.service.empty()) {
    message += '\x0a';
    append_varint(message, grpc.service.size());
    message += grpc.service;
  }
  return {.headers = {{":method", "POST"},
                      {":scheme", grpc.tls ? "https" : "http"},
                      {":path", "/grpc.health.v1.Health/Check"},
                      {":authority", call.authority},
                      {"content-type", "application/grpc"},
                      {"user-agent", call.user_agent},
                      {"te", "trailers"},
                      {"grpc-timeout", timeout_text(call.time_left)}},
          .body = frame_message(message)};
}

Outcome judge_health(const H2Answer& answer) {
  if (answer.status != 200)
    return wrong_answer(fmt::format("HTTP {} instead of gRPC", answer.status));
  if (!answer.content_type.starts_with("application/grpc"))
    return wrong_answer("the answer is no gRPC");
  if (answer.grpc_status.empty()) return wrong_answer("the answer of gRPC has no status");
  if (answer.grpc_status != "0") return judge_call(answer.grpc_status);
  const std::optional<string_view> message = message_of(answer.body);
  const std::optional<uint64_t> health = message ? health_of(*message) : std::nullopt;
  if (!health) return wrong_answer("the answer of gRPC is no health");
  const auto code = static_cast<int>(std::min<uint64_t>(*health, INT32_MAX));
  Outcome outcome{.healthy = *health == kServing, .code = code, .code_of = CodeOf::GrpcHealth};
  const string_view name = health_name(code);
  outcome.reason = outcome.healthy
                       ? std::string(name)
                       : fmt::format("HF7003: {} ({})", name.empty() ? "status" : name, code);
  return outcome;
}

}  // namespace holdfast::probe
