#include "net/http_message.h"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast::net {
namespace {

bool may_be_sent(std::string_view value) {
  return std::ranges::none_of(value, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
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

std::string format_head(const HttpResponse& response, const HttpFraming& framing) {
  std::string out =
      fmt::format("HTTP/1.1 {} {}\r\n", response.status, reason_phrase(response.status));
  const auto add = [&out](std::string_view name, std::string_view value) {
    if (may_be_sent(value)) out += fmt::format("{}: {}\r\n", name, value);
  };
  add("Date", framing.date);
  add("Content-Type", response.content_type);
  add("X-Content-Type-Options", "nosniff");
  for (const auto& [name, value] : response.headers) add(name, value);
  if (framing.chunked) add("Transfer-Encoding", "chunked");
  if (!response.stream) add("Content-Length", fmt::format("{}", response.body.size()));
  if (framing.close) add("Connection", "close");
  return out + "\r\n";
}

}  // namespace holdfast::net
