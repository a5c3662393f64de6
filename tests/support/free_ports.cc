#include "support/free_ports.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"

namespace holdfast::test {

std::vector<uint16_t> free_ports(size_t count) {
  std::vector<uint16_t> ports;
  std::vector<int> sockets;
  for (size_t i = 0; i < count; ++i) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    HF_CHECK(::bind(socket, generic, size) == 0 && ::getsockname(socket, generic, &size) == 0,
             "a port on loopback can be had");
    ports.push_back(ntohs(address.sin_port));
    sockets.push_back(socket);
  }
  for (const int socket : sockets) ::close(socket);
  return ports;
}

}  // namespace holdfast::test
