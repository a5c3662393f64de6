#include "probe/probe_path.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "net/http_target.h"

namespace holdfast::probe {
namespace {

using std::string_view;

bool is_unreserved(char c) {
  return is_letter_or_digit(c) || string_view("-._~").contains(c);
}

// What Go leaves alone in a path that it writes anew.
bool stays_in_path(char c) {
  return is_unreserved(c) || string_view("$&+,/:;=@").contains(c);
}

// What Go takes for a path that is written well already, next to what is percent-encoded.
bool is_valid_in_path(char c) {
  return stays_in_path(c) || string_view("!'()*[]%").contains(c);
}

bool is_valid_in_query(char c) {
  return c > ' ' && c < 0x7f;
}

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

void append_encoded(std::string& out, string_view text, bool (*stays)(char)) {
  for (const char c : text) {
    if (stays(c)) {
      out += c;
    } else {
      fmt::format_to(std::back_inserter(out), "%{:02X}", static_cast<unsigned char>(c));
    }
  }
}

void append_path(std::string& out, string_view path) {
  if (!path.starts_with('/')) out += '/';
  if (std::ranges::all_of(path, is_valid_in_path)) {
    out += path;
  } else {
    append_encoded(out, *net::percent_decode(path), stays_in_path);
  }
}

}  // namespace

bool can_be_url(string_view path) {
  const string_view before = path.substr(0, path.find_first_of("?#"));
  return std::ranges::none_of(path, is_control) && net::percent_decode(before).has_value();
}

std::string request_target(string_view path) {
  std::string out;
  out.reserve(path.size() + 1);
  const string_view whole = path.substr(0, path.find('#'));
  const size_t mark = whole.find('?');
  const string_view before = whole.substr(0, mark);
  if (!can_be_url(path)) {
    // It is no URL, so all of it is taken for the path's own bytes.
    if (!path.starts_with('/')) out += '/';
    append_encoded(out, path, stays_in_path);
    return out;
  }
  append_path(out, before);
  if (mark != string_view::npos) append_encoded(out, whole.substr(mark), is_valid_in_query);
  return out;
}

std::string percent_encode(string_view text) {
  std::string out;
  append_encoded(out, text, is_unreserved);
  return out;
}

std::string handler_path(const Probe& probe, size_t number) {
  const std::string port =
      number > 1 ? fmt::format("{}~{}", probe.port, number) : std::to_string(probe.port);
  if (const auto* http = std::get_if<HttpGet>(&probe.action)) {
    return fmt::format("{}/{}{}", probe.hook ? "/hook" : "", port, request_target(http->path));
  }
  const auto* grpc = std::get_if<Grpc>(&probe.action);
  if (grpc == nullptr) return "/tcp/" + port;
  if (grpc->service.empty()) return "/grpc/" + port;
  return fmt::format("/grpc/{}/{}", port, percent_encode(grpc->service));
}

}  // namespace holdfast::probe
