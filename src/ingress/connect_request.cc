#include "ingress/connect_request.h"

#include <algorithm>
#include <cstdint>

#include "ingress/letter_case.h"

namespace holdfast::ingress {
namespace {

using std::string_view;

constexpr string_view kMethod = "CONNECT ";
constexpr string_view kLineEnd = "\r\n";
constexpr string_view kHeadEnd = "\r\n\r\n";
constexpr size_t kMaxHostBytes = 512;  // a service's name and a cluster's
constexpr size_t kMaxPortBytes = 253;
constexpr size_t kMaxHeaders = 128;

ConnectRequest bad(string_view problem) {
  return {.state = ConnectRequest::State::Bad, .problem = problem};
}

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

// RFC 9110: the characters of a header's name.
bool is_token_character(char c) {
  constexpr string_view kOthers = "!#$%&'*+-.^_`|~";
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         kOthers.contains(c);
}

bool is_control(char c) {
  return (static_cast<uint8_t>(c) < 0x20 && c != '\t') || c == 0x7f;
}

// Null if the header may be passed over: what announces a body has no sense here, and a proxy that
// guesses about it can be led to take a body for bytes of the stream.
const char* header_problem(string_view line) {
  const size_t colon = line.find(':');
  const string_view name = line.substr(0, colon);
  if (colon == string_view::npos || name.empty() ||
      !std::ranges::all_of(name, is_token_character)) {
    return "a header is not NAME: VALUE";
  }
  if (std::ranges::any_of(line, is_control)) return "a header has a control character";
  if (equal_without_case(name, "transfer-encoding")) return "CONNECT has no body";
  if (!equal_without_case(name, "content-length")) return nullptr;
  const string_view value = line.substr(colon + 1);
  return value == "0" || value == " 0" ? nullptr : "CONNECT has no body";
}

// Null, or what is wrong with the lines after the first.
const char* headers_problem(string_view lines) {
  size_t count = 0;
  bool has_host = false;
  while (!lines.empty()) {
    const size_t end = std::min(lines.find(kLineEnd), lines.size());
    const string_view line = lines.substr(0, end);
    if (const char* problem = header_problem(line)) return problem;
    if (++count > kMaxHeaders) return "too many headers";
    if (equal_without_case(line.substr(0, line.find(':')), "host")) {
      if (has_host) return "Host is given twice";
      has_host = true;
    }
    lines.remove_prefix(std::min(end + kLineEnd.size(), lines.size()));
  }
  return has_host ? nullptr : "HTTP/1.1 needs a Host header";
}

// "web:80 HTTP/1.1", what follows the method.
ConnectRequest read_line(string_view line) {
  constexpr string_view kVersion = " HTTP/1.1";
  if (!line.ends_with(kVersion)) return bad("the first line does not end in HTTP/1.1");
  line.remove_suffix(kVersion.size());
  const size_t colon = line.find(':');
  if (colon == string_view::npos) return bad("write CONNECT SERVICE:PORT");
  const string_view host = line.substr(0, colon);
  const string_view port = line.substr(colon + 1);
  const bool fits = !host.empty() && host.size() <= kMaxHostBytes && !port.empty() &&
                    port.size() <= kMaxPortBytes;
  if (!fits || !std::ranges::all_of(host, is_name_character) ||
      !std::ranges::all_of(port, is_name_character)) {
    return bad("write CONNECT SERVICE:PORT");
  }
  return {.state = ConnectRequest::State::Connect,
          .host = std::string(host),
          .port = port == "0" ? "" : std::string(port)};
}

}  // namespace

ConnectRequest read_connect_request(string_view bytes) {
  const size_t begun = std::min(bytes.size(), kMethod.size());
  if (bytes.substr(0, begun) != kMethod.substr(0, begun))
    return {.state = ConnectRequest::State::Other};
  const size_t end = bytes.substr(0, kMaxHeadBytes).find(kHeadEnd);
  if (end == string_view::npos) {
    return {.state = bytes.size() < kMaxHeadBytes ? ConnectRequest::State::NeedMore
                                                  : ConnectRequest::State::TooLong};
  }
  const string_view head = bytes.substr(kMethod.size(), end - kMethod.size());
  const size_t first = std::min(head.find(kLineEnd), head.size());
  ConnectRequest request = read_line(head.substr(0, first));
  if (request.state != ConnectRequest::State::Connect) return request;
  const string_view headers = head.substr(std::min(first + kLineEnd.size(), head.size()));
  if (const char* problem = headers_problem(headers)) return bad(problem);
  request.head_bytes = end + kHeadEnd.size();
  return request;
}

std::string service_of_host(string_view host, string_view cluster) {
  const bool qualified = !cluster.empty() && host.size() > cluster.size() + 1 &&
                         host.ends_with(cluster) && host[host.size() - cluster.size() - 1] == '.';
  return std::string(qualified ? host.substr(0, host.size() - cluster.size() - 1) : host);
}

}  // namespace holdfast::ingress
