#include "probe/http_request.h"

#include <algorithm>

#include "probe/probe_rules.h"

namespace holdfast::probe {
namespace {

using std::string_view;

const Header* find_header(const HttpGet& http, string_view name) {
  const auto found = std::ranges::find_if(
      http.headers, [&](const Header& header) { return same_name(header.name, name); });
  return found == http.headers.end() ? nullptr : &*found;
}

// What says how the message ends, or is written by other rules.
bool is_ours(string_view name) {
  constexpr string_view kOurs[] = {"host",    "user-agent",     "accept",
                                   "trailer", "content-length", "transfer-encoding"};
  return std::ranges::any_of(kOurs, [&](string_view ours) { return same_name(name, ours); });
}

void append_canonical(std::string& out, string_view name) {
  bool start = true;
  for (const char c : name) {
    const bool letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
    out += !letter ? c : static_cast<char>(start ? c & ~0x20 : c | 0x20);
    start = c == '-';
  }
}

void append_line(std::string& out, string_view name, string_view value) {
  append_canonical(out, name);
  out.append(": ").append(value).append("\r\n");
}

std::string lower(string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  return out;
}

bool is_of_connection(string_view name) {
  constexpr string_view kThose[] = {"connection", "proxy-connection", "keep-alive", "upgrade",
                                    "te",         "http2-settings"};
  return std::ranges::any_of(kThose, [&](string_view one) { return same_name(name, one); });
}

// The words of a list such as "keep-alive, Close".
bool has_word(string_view list, string_view word) {
  while (!list.empty()) {
    const size_t end = std::min(list.find_first_of(", \t"), list.size());
    if (same_name(list.substr(0, end), word)) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

// As Go has it: the probe's own Connection stands as it is, and ours comes behind it unless the
// first of them says "close", or they and Upgrade ask for another protocol.
bool ends_the_connection_itself(const HttpGet& http) {
  const Header* first = find_header(http, "connection");
  if (first == nullptr) return false;
  if (has_word(first->value, "close")) return true;
  const Header* upgrade = find_header(http, "upgrade");
  if (upgrade == nullptr || upgrade->value.empty()) return false;
  return std::ranges::any_of(http.headers, [](const Header& header) {
    return same_name(header.name, "connection") && has_word(header.value, "upgrade");
  });
}

}  // namespace

std::vector<HeaderView> request_headers(const HttpGet& http, const Hop& hop,
                                        string_view user_agent) {
  std::vector<HeaderView> headers;
  headers.reserve(http.headers.size() + 3);
  const Header* agent = find_header(http, "user-agent");
  if (agent != nullptr) user_agent = agent->value;
  if (!user_agent.empty()) headers.push_back({"User-Agent", user_agent});
  const Header* accept = find_header(http, "accept");
  if (accept == nullptr) headers.push_back({"Accept", "*/*"});
  for (const Header& header : http.headers) {
    const bool accepted = accept != nullptr && !accept->value.empty();
    if (is_ours(header.name) && !(accepted && same_name(header.name, "accept"))) continue;
    headers.push_back({header.name, header.value});
  }
  const bool refers = !hop.referer.empty() && find_header(http, "referer") == nullptr;
  if (refers) headers.push_back({"Referer", hop.referer});
  return headers;
}

std::string http1_request(const HttpGet& http, const Hop& hop, string_view user_agent) {
  std::string out;
  out.reserve(256 + hop.target.size());
  out.append("GET ").append(hop.target).append(" HTTP/1.1\r\nHost: ");
  out.append(hop.own_host.empty() ? hop.authority : hop.own_host).append("\r\n");
  for (const HeaderView& header : request_headers(http, hop, user_agent)) {
    append_line(out, header.name, header.value);
  }
  if (!ends_the_connection_itself(http)) out += "Connection: close\r\n";
  out += "\r\n";
  return out;
}

H2Request http2_request(const HttpGet& http, const Hop& hop, string_view user_agent) {
  H2Request request;
  request.headers = {{":authority", hop.own_host.empty() ? hop.authority : hop.own_host},
                     {":method", "GET"},
                     {":path", hop.target},
                     {":scheme", hop.tls ? "https" : "http"}};
  for (const HeaderView& header : request_headers(http, hop, user_agent)) {
    if (is_of_connection(header.name)) continue;
    request.headers.push_back({lower(header.name), std::string(header.value)});
  }
  return request;
}

}  // namespace holdfast::probe
