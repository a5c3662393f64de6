#include "support/free_ports.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>

#include "base/check.h"

namespace holdfast::test {
namespace {

// Below those that the kernel gives to whoever binds port 0 or connects.
constexpr uint32_t kFirst = 10'000;
constexpr uint32_t kSpan = 22'000;

}  // namespace

std::vector<uint16_t> free_ports(size_t count) {
  // Each process begins elsewhere.
  static std::atomic<uint32_t> next = static_cast<uint32_t>(::getpid()) * 211;
  std::vector<uint16_t> ports;
  std::vector<int> sockets;
  for (uint32_t tries = 0; ports.size() < count; ++tries) {
    HF_CHECK(tries < kSpan, "a port on loopback can be had");
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(kFirst + next++ % kSpan));
    if (::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
      ::close(socket);
      continue;
    }
    ports.push_back(ntohs(address.sin_port));
    sockets.push_back(socket);
  }
  for (const int socket : sockets) ::close(socket);
  return ports;
}

}  // namespace holdfast::test
