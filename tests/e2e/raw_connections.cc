#include "e2e/raw_connections.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace holdfast::test {

RawConnections::~RawConnections() {
  for (const int socket : sockets_) ::close(socket);
}

bool RawConnections::open(std::string_view bytes) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return false;
  sockets_.push_back(socket);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl((INADDR_LOOPBACK & ~0xFFU) | host_);
  // A port that is bound is nobody else's: only where the address matters.
  if (host_ != 1 && ::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    return false;
  }
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port_);
  if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) return false;
  // How much of it the other side takes before it hangs up is its business.
  static_cast<void>(::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  return true;
}

size_t RawConnections::still_open() const {
  size_t count = 0;
  for (const int socket : sockets_) {
    char bytes[1024];
    ssize_t got = 0;
    do got = ::recv(socket, bytes, sizeof(bytes), MSG_DONTWAIT);
    while (got > 0);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) count += 1;
  }
  return count;
}

}  // namespace holdfast::test
