#include "net/http_message.h"

#include <absl/strings/match.h>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace holdfast::net {
namespace {

bool may_be_sent(std::string_view value) {
  return std::ranges::none_of(value, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

// Of a method or of a header's name.
bool is_token(std::string_view text) {
  static constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 || kMarks.contains(static_cast<char>(c));
  });
}

bool is_target(std::string_view text) {
  return text.starts_with('/') &&
         std::ranges::all_of(text, [](unsigned char c) { return c > 0x20 && c < 0x7f; });
}

}  // namespace

std::string_view reason_phrase(int status) {
  static constexpr std::pair<int, std::string_view> kPhrases[] = {
      {200, "OK"},
      {201, "Created"},
      {400, "Bad Request"},
      {401, "Unauthorized"},
      {403, "Forbidden"},
      {404, "Not Found"},
      {405, "Method Not Allowed"},
      {408, "Request Timeout"},
      {409, "Conflict"},
      {410, "Gone"},
      {412, "Precondition Failed"},
      {413, "Content Too Large"},
      {415, "Unsupported Media Type"},
      {429, "Too Many Requests"},
      {431, "Request Header Fields Too Large"},
      {500, "Internal Server Error"},
      {501, "Not Implemented"},
      {502, "Bad Gateway"},
      {503, "Service Unavailable"},
      {504, "Gateway Timeout"},
      {505, "HTTP Version Not Supported"},
  };
  const auto* found = std::ranges::find(kPhrases, status, &std::pair<int, std::string_view>::first);
  return found == std::end(kPhrases) ? "" : found->second;
}

HttpResponse http_error(int status, std::string_view code, std::string_view message) {
  HttpResponse response;
  response.status = status;
  response.body =
      fmt::format(R"({{"error":{{"code":"{}","message":"{}"}}}})", code, message) + "\n";
  return response;
}

std::string http_date(WallTime now) {
  const auto since_1970 = now.time_since_epoch();
  const std::time_t seconds = std::chrono::duration_cast<std::chrono::seconds>(since_1970).count();
  return fmt::format("{:%a, %d %b %Y %H:%M:%S GMT}", fmt::gmtime(seconds));
}

std::string format_head(const HttpResponse& response, const HttpFraming& framing) {
  std::string out;
  out.reserve(512);  // for most, with a short body behind it
  out.append("HTTP/1.1 ").append(std::to_string(response.status)).append(" ");
  out.append(reason_phrase(response.status)).append("\r\n");
  const auto add = [&out](std::string_view name, std::string_view value) {
    if (may_be_sent(value)) out.append(name).append(": ").append(value).append("\r\n");
  };
  if (!framing.date.empty()) add("Date", framing.date);
  add("Content-Type", response.content_type);
  add("X-Content-Type-Options", "nosniff");
  for (const auto& [name, value] : response.headers) add(name, value);
  if (framing.chunked) add("Transfer-Encoding", "chunked");
  if (!response.stream) add("Content-Length", std::to_string(response.body.size()));
  if (framing.close) add("Connection", "close");
  out.append("\r\n");
  return out;
}

bool may_be_repeated(const HttpCall& call) {
  if (call.method == "GET" || call.method == "HEAD") return true;
  return std::ranges::any_of(call.headers, [](const auto& header) {
    return absl::EqualsIgnoreCase(header.first, "Idempotency-Key") && !header.second.empty();
  });
}

Result<std::string> format_call(const HttpCall& call, std::string_view host) {
  if (!is_token(call.method) || !is_target(call.target)) {
    return absl::InvalidArgumentError("a request has a method, and a target that begins with /");
  }
  std::string out = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n", call.method, call.target, host);
  for (const auto& [name, value] : call.headers) {
    if (!is_token(name) || !may_be_sent(value)) {
      return absl::InvalidArgumentError("a header's name or value cannot be sent");
    }
    out += fmt::format("{}: {}\r\n", name, value);
  }
  const bool with_length = !call.body.empty() || (call.method != "GET" && call.method != "HEAD");
  if (with_length) out += fmt::format("Content-Length: {}\r\n", call.body.size());
  return out + "\r\n" + call.body;
}

}  // namespace holdfast::net
