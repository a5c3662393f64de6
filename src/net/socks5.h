// A SOCKS5 server's side of what comes before the bytes (RFC 1928): which host is asked for. Only
// CONNECT, and only by name: names are services, and an address is none. Takes bytes, waits for
// nothing.
//
//   greeting ─► (name and password, not looked at) ─► request ─► Asked, then reply() by the caller
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::net {

// The replies that are used; the numbers travel.
enum class SocksReply : uint8_t {
  Granted = 0,
  Failed = 1,
  NotAllowed = 2,
  NetworkUnreachable = 3,
  HostUnreachable = 4,
  Refused = 5,
  TimedOut = 6,
  UnknownCommand = 7,
  UnknownAddressType = 8,
};
std::string socks_reply(SocksReply reply);

class Socks5 {
 public:
  enum class State {
    NeedMore,
    Asked,    // host() and port() are set; the caller answers with socks_reply()
    Refused,  // send what there is to send, then close
  };
  struct Step {
    State state = State::NeedMore;
    size_t taken = 0;  // the rest must be given again, with more after it
    std::string send{};
  };
  Step put(std::string_view bytes);

  const std::string& host() const { return host_; }
  uint16_t port() const { return port_; }

 private:
  enum class Phase { Greeting, Password, Request, Over };
  Step greet(std::string_view bytes);
  Step pass_over_password(std::string_view bytes);
  Step read_request(std::string_view bytes);
  Step refuse(std::string send);

  Phase phase_ = Phase::Greeting;
  std::string host_;
  uint16_t port_ = 0;
};

}  // namespace holdfast::net
