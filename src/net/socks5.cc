#include "net/socks5.h"

#include <algorithm>

namespace holdfast::net {
namespace {

using std::string_view;

constexpr char kVersion = 5;
constexpr char kPasswordVersion = 1;
constexpr char kNoAuthentication = 0;
constexpr char kPassword = 2;
constexpr char kNoneAcceptable = static_cast<char>(0xff);
constexpr char kConnect = 1;
constexpr char kIpv4 = 1;
constexpr char kName = 3;

size_t at(string_view bytes, size_t index) {
  return static_cast<uint8_t>(bytes[index]);
}

bool is_name(string_view host) {
  return !host.empty() && std::ranges::all_of(host, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
}

// Some clients send an address as if it were a name.
bool is_ipv4(string_view host) {
  return std::ranges::all_of(host, [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
}

}  // namespace

std::string socks_reply(SocksReply reply) {
  // Where it connected from is nobody's business: 0.0.0.0:0.
  return {kVersion, static_cast<char>(reply), 0, kIpv4, 0, 0, 0, 0, 0, 0};
}

Socks5::Step Socks5::put(string_view bytes) {
  Step total;
  while (total.state == State::NeedMore) {
    const string_view rest = bytes.substr(total.taken);
    Step step = phase_ == Phase::Greeting   ? greet(rest)
                : phase_ == Phase::Password ? pass_over_password(rest)
                : phase_ == Phase::Request  ? read_request(rest)
                                            : Step{.state = State::Refused};
    total.state = step.state;
    total.taken += step.taken;
    total.send += step.send;
    if (step.taken == 0) break;
  }
  return total;
}

Socks5::Step Socks5::refuse(std::string send) {
  phase_ = Phase::Over;
  return {.state = State::Refused, .send = std::move(send)};
}

Socks5::Step Socks5::greet(string_view bytes) {
  if (bytes.empty()) return {};
  if (bytes[0] != kVersion) return refuse("");
  if (bytes.size() < 2 || bytes.size() < 2 + at(bytes, 1)) return {};
  const string_view methods = bytes.substr(2, at(bytes, 1));
  const size_t taken = 2 + methods.size();
  if (methods.contains(kNoAuthentication)) {
    phase_ = Phase::Request;
    return {.taken = taken, .send = {kVersion, kNoAuthentication}};
  }
  if (!methods.contains(kPassword)) return refuse({kVersion, kNoneAcceptable});
  phase_ = Phase::Password;
  return {.taken = taken, .send = {kVersion, kPassword}};
}

Socks5::Step Socks5::pass_over_password(string_view bytes) {
  if (bytes.empty()) return {};
  if (bytes[0] != kPasswordVersion) return refuse("");
  if (bytes.size() < 2 || bytes.size() < 2 + at(bytes, 1) + 1) return {};
  const size_t name = at(bytes, 1);
  const size_t whole = 2 + name + 1 + at(bytes, 2 + name);
  if (bytes.size() < whole) return {};
  phase_ = Phase::Request;
  return {.taken = whole, .send = {kPasswordVersion, 0}};
}

Socks5::Step Socks5::read_request(string_view bytes) {
  if (bytes.empty()) return {};
  if (bytes[0] != kVersion) return refuse("");
  if (bytes.size() < 5) return {};
  if (bytes[1] != kConnect) return refuse(socks_reply(SocksReply::UnknownCommand));
  if (bytes[3] != kName) {
    return refuse(socks_reply(SocksReply::UnknownAddressType));
  }
  const size_t length = at(bytes, 4);
  if (bytes.size() < 5 + length + 2) return {};
  const string_view host = bytes.substr(5, length);
  if (!is_name(host)) return refuse(socks_reply(SocksReply::Failed));
  if (is_ipv4(host)) return refuse(socks_reply(SocksReply::UnknownAddressType));
  host_ = host;
  port_ = static_cast<uint16_t>(at(bytes, 5 + length) << 8 | at(bytes, 6 + length));
  phase_ = Phase::Over;
  return {.state = State::Asked, .taken = 5 + length + 2};
}

}  // namespace holdfast::net
