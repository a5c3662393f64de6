#include "probe_relay.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string_view>
#include <thread>

#include "base/check.h"
#include "support/eventually.h"
#include "support/free_ports.h"

namespace holdfast::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kRequest =
    "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: kube-probe/1.0\r\nAccept: */*\r\n"
    "Connection: close\r\n\r\n";
constexpr std::string_view kAnswer =
    "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nHoldfast-Probe-Status: 200\r\n"
    "Content-Length: 9\r\nConnection: close\r\n\r\nHTTP 200\n";

sockaddr_in loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int connect_to(uint16_t port) {
  const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const linger reset{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(made, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
  const sockaddr_in address = loopback(port);
  if (::connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0)
    return made;
  ::close(made);
  return -1;
}

void send_all(int socket, std::string_view bytes) {
  static_cast<void>(::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL));
}

void relay(int listener, uint16_t application_port) {
  std::array<char, 4'096> bytes;
  for (;;) {
    const int caller = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (caller < 0) continue;
    if (::recv(caller, bytes.data(), bytes.size(), 0) > 0) {
      const int application = connect_to(application_port);
      send_all(application, kRequest);
      const bool answered = ::recv(application, bytes.data(), bytes.size(), 0) > 0;
      ::close(application);
      if (answered) send_all(caller, kAnswer);
      static_cast<void>(::recv(caller, bytes.data(), bytes.size(), 0));  // its end
    }
    ::close(caller);
  }
}

}  // namespace

int run_relay(uint16_t port, uint16_t application_port) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  const sockaddr_in address = loopback(port);
  HF_CHECK(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0,
           "binding the relay");
  HF_CHECK(::listen(listener, 1'024) == 0, "listening");
  // Two, so that one goes on while the other waits for the application: the most this way carries.
  const std::jthread other([&] { relay(listener, application_port); });
  relay(listener, application_port);
  return 0;
}

RawRelay::RawRelay(uint16_t application_port)
    : port_(test::free_ports(1).front()),
      process_({.arguments = {"/proc/self/exe", "--relay", fmt::format("{}", port_),
                              fmt::format("{}", application_port)}}) {
  const auto answers = [&] {
    const int tried = connect_to(port_);
    if (tried >= 0) ::close(tried);
    return tried >= 0;
  };
  HF_CHECK(test::eventually(answers, 20s), "the relay starts");
}

}  // namespace holdfast::bench
