#include "ingress/client_hello.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "ingress/letter_case.h"

namespace holdfast::ingress {
namespace {

using std::string_view;

constexpr uint8_t kHandshakeRecord = 22;
constexpr uint8_t kClientHelloMessage = 1;
constexpr uint16_t kServerName = 0;
constexpr uint8_t kHostName = 0;
constexpr size_t kRecordHeaderBytes = 5;
constexpr size_t kMessageHeaderBytes = 4;
constexpr size_t kMaxRecordBytes = 16'384;
constexpr size_t kMaxNameBytes = 255;

// Takes fields off the front; once one is not whole, everything after it is empty.
class Fields {
 public:
  explicit Fields(string_view bytes) : left_(bytes) {}

  size_t number(size_t bytes) {
    size_t value = 0;
    for (const char each : take(bytes)) value = value << 8 | static_cast<uint8_t>(each);
    return value;
  }
  string_view take(size_t bytes) {
    whole_ &= bytes <= left_.size();
    const string_view taken = whole_ ? left_.substr(0, bytes) : string_view();
    left_.remove_prefix(taken.size());
    return taken;
  }
  // A field led by its length.
  string_view sized(size_t length_bytes) { return take(number(length_bytes)); }

  bool whole() const { return whole_; }
  bool done() const { return left_.empty(); }

 private:
  string_view left_;
  bool whole_ = true;
};

// The message's bytes as far as they came, without the headers of their records. Sets `state` if
// this is no TLS.
std::string join_records(string_view bytes, ClientHello::State& state) {
  std::string message;
  while (!bytes.empty()) {
    const auto at = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
    const bool is_record = at(0) == kHandshakeRecord && (bytes.size() < 2 || at(1) == 3);
    if (!is_record) {
      state = ClientHello::State::NotTls;
      return {};
    }
    if (bytes.size() < kRecordHeaderBytes) break;
    const size_t length = size_t{at(3)} << 8 | at(4);
    if (length == 0 || length > kMaxRecordBytes) {
      state = ClientHello::State::NotTls;
      return {};
    }
    bytes.remove_prefix(kRecordHeaderBytes);
    message += bytes.substr(0, length);
    bytes.remove_prefix(std::min(length, bytes.size()));
    // What follows the hello is nobody's business here.
    if (message.size() < kMessageHeaderBytes) continue;
    Fields header(message);
    header.number(1);
    const size_t length_said = header.number(3);
    if (length_said > kMaxClientHelloBytes) return message;  // decided, whatever follows
    const size_t whole = kMessageHeaderBytes + length_said;
    if (message.size() >= whole) return message.substr(0, whole);
  }
  return message;
}

bool is_host_name(string_view name) {
  if (name.empty() || name.size() > kMaxNameBytes) return false;
  for (const char each : name) {
    const bool allowed = (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') ||
                         (each >= '0' && each <= '9') || each == '-' || each == '_' || each == '.';
    if (!allowed) return false;
  }
  return true;
}

// The one name of a host in a server_name extension.
ClientHello read_names(string_view extension) {
  Fields outer(extension);
  Fields list(outer.sized(2));
  if (!outer.whole() || !outer.done()) return {.state = ClientHello::State::NotTls};
  std::optional<string_view> found;
  while (!list.done() && list.whole()) {
    const size_t type = list.number(1);
    const string_view name = list.sized(2);
    if (type != kHostName) continue;
    if (found) return {.state = ClientHello::State::NotTls};
    found = name;
  }
  if (!list.whole()) return {.state = ClientHello::State::NotTls};
  if (!found) return {.state = ClientHello::State::NoName};
  if (!is_host_name(*found)) return {.state = ClientHello::State::NotTls};
  return {.state = ClientHello::State::Named, .name = lower_case(*found)};
}

ClientHello read_extensions(string_view extensions) {
  Fields fields(extensions);
  std::optional<string_view> names;
  while (!fields.done() && fields.whole()) {
    const size_t type = fields.number(2);
    const string_view body = fields.sized(2);
    if (type != kServerName) continue;
    if (names) return {.state = ClientHello::State::NotTls};
    names = body;
  }
  if (!fields.whole()) return {.state = ClientHello::State::NotTls};
  return names ? read_names(*names) : ClientHello{.state = ClientHello::State::NoName};
}

ClientHello read_body(string_view body) {
  Fields fields(body);
  fields.take(2 + 32);  // version, random
  fields.sized(1);      // session
  fields.sized(2);      // cipher suites
  fields.sized(1);      // compression
  if (fields.whole() && fields.done())
    return {.state = ClientHello::State::NoName};  // no extensions at all
  const string_view extensions = fields.sized(2);
  if (!fields.whole() || !fields.done()) return {.state = ClientHello::State::NotTls};
  return read_extensions(extensions);
}

}  // namespace

ClientHello read_client_hello(string_view bytes) {
  ClientHello::State state = ClientHello::State::NeedMore;
  const std::string message = join_records(bytes.substr(0, kMaxClientHelloBytes), state);
  if (state != ClientHello::State::NeedMore) return {.state = state};
  const ClientHello::State more = bytes.size() < kMaxClientHelloBytes ? ClientHello::State::NeedMore
                                                                      : ClientHello::State::TooLong;
  if (message.empty()) return {.state = more};
  if (static_cast<uint8_t>(message[0]) != kClientHelloMessage)
    return {.state = ClientHello::State::NotTls};
  if (message.size() < kMessageHeaderBytes) return {.state = more};
  Fields fields(message);
  fields.number(1);
  const size_t length = fields.number(3);
  if (length > kMaxClientHelloBytes) return {.state = ClientHello::State::TooLong};
  if (message.size() < kMessageHeaderBytes + length) return {.state = more};
  return read_body(fields.take(length));
}

}  // namespace holdfast::ingress
