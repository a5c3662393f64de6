// The head of an HTTP/1.1 CONNECT, strictly: who wants which service. Pure; asked again with all
// the bytes whenever more came.
//
//   CONNECT web:80 HTTP/1.1        a service and one of its ports, by number or by name
//   CONNECT web.prod:0 HTTP/1.1    with the cluster's name; 0: the service's first port
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace holdfast::ingress {

inline constexpr size_t kMaxHeadBytes = 16 << 10;

struct ConnectRequest {
  enum class State {
    NeedMore,
    Connect,  // the rest is set
    Other,    // another method: not for this parser
    Bad,      // not HTTP, or not as strict as it has to be; `problem` says why
    TooLong,
  };
  State state = State::NeedMore;
  std::string host{};     // a service, maybe with the cluster's name after it; as it was written
  std::string port{};     // name or number; empty: the first
  size_t head_bytes = 0;  // what comes after is the client's first bytes to the service
  std::string_view problem{};
};
// `bytes`: all that came since the connection opened.
ConnectRequest read_connect_request(std::string_view bytes);

// "web" for "web" and for "web.prod" in cluster "prod"; else as it is, which names no service.
std::string service_of_host(std::string_view host, std::string_view cluster);

}  // namespace holdfast::ingress
