// Reads the server's name out of the first bytes of a TLS connection, without being part of it: the
// bytes go on to the service as they came. Pure; asked again with all the bytes whenever more came.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace holdfast::ingress {

inline constexpr size_t kMaxClientHelloBytes = 16 << 10;  // with the headers of its records

struct ClientHello {
  enum class State {
    NeedMore,
    Named,   // `name` is set
    NoName,  // a whole hello without a name of a host
    NotTls,  // or not well-formed
    TooLong,
  };
  State state = State::NeedMore;
  std::string name{};  // in lower case
};
// `bytes`: all that came since the connection opened.
ClientHello read_client_hello(std::string_view bytes);

}  // namespace holdfast::ingress
