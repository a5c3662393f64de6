#include "e2e/probe_app.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "base/check.h"

namespace holdfast::test {
namespace {

constexpr size_t kKeptHeads = 1'000;

int listen_on(const std::string& ip, uint16_t& port) {
  sockaddr_in6 v6{};
  sockaddr_in v4{};
  const bool is_v6 = ip.contains(':');
  const int made =
      ::socket(is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int yes = 1;
  ::setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  v4.sin_family = AF_INET;
  v4.sin_port = htons(port);
  ::inet_pton(AF_INET6, ip.c_str(), &v6.sin6_addr);
  ::inet_pton(AF_INET, ip.c_str(), &v4.sin_addr);
  auto* address = is_v6 ? reinterpret_cast<sockaddr*>(&v6) : reinterpret_cast<sockaddr*>(&v4);
  socklen_t size = is_v6 ? sizeof(v6) : sizeof(v4);
  HF_CHECK(::bind(made, address, size) == 0, "binding to " + ip);
  HF_CHECK(::listen(made, 4'096) == 0, "listening on " + ip);
  ::getsockname(made, address, &size);
  port = ntohs(is_v6 ? v6.sin6_port : v4.sin_port);
  return made;
}

void follow(int poll, int descriptor) {
  epoll_event event{.events = EPOLLIN | EPOLLRDHUP, .data = {.fd = descriptor}};
  ::epoll_ctl(poll, EPOLL_CTL_ADD, descriptor, &event);
}

std::string target_of(const std::string& head) {
  const size_t begin = head.find(' ') + 1;
  return head.substr(begin, head.find(' ', begin) - begin);
}

std::string reply(int status, std::string_view length, std::string_view body) {
  return fmt::format("HTTP/1.1 {} x\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}", status,
                     length, body);
}

}  // namespace

ProbeApp::ProbeApp(const std::string& ip, uint16_t port)
    : poll_(::epoll_create1(EPOLL_CLOEXEC)), ending_(::eventfd(0, EFD_CLOEXEC)), port_(port) {
  listener_ = listen_on(ip, port_);
  follow(poll_, listener_);
  follow(poll_, ending_);
  thread_ = std::thread([this] { run(); });
}

ProbeApp::~ProbeApp() {
  const uint64_t one = 1;
  HF_CHECK(::write(ending_, &one, sizeof(one)) == sizeof(one), "ending");
  thread_.join();
  for (const auto& [socket, begun] : open_) ::close(socket);
  for (const int descriptor : {listener_, poll_, ending_}) ::close(descriptor);
}

std::vector<std::string> ProbeApp::heads() {
  const std::lock_guard lock(mutex_);
  return heads_;
}

void ProbeApp::run() {
  std::array<epoll_event, 256> events;
  for (;;) {
    const int count = ::epoll_wait(poll_, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < count; ++i) {
      const int descriptor = events[static_cast<size_t>(i)].data.fd;
      if (descriptor == ending_) return;
      if (descriptor == listener_) {
        accept_one();
      } else if (const auto found = open_.find(descriptor);
                 found != open_.end() && serve(descriptor, found->second)) {
        open_.erase(found);
        ::close(descriptor);
      }
    }
  }
}

// If there are more the loop comes back; to be told that there is none costs more than that.
void ProbeApp::accept_one() {
  const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (socket < 0) return;
  accepted_ += 1;
  std::string begun;
  if (serve(socket, begun)) {  // what it says has often come with it
    ::close(socket);
  } else {
    open_.emplace(socket, std::move(begun));
    follow(poll_, socket);
  }
}

bool ProbeApp::serve(int socket, std::string& begun) {
  std::array<char, 4'096> bytes;
  const ssize_t count = ::recv(socket, bytes.data(), bytes.size(), 0);
  const bool hangs = begun.ends_with("\r\n\r\n");
  if (count < 0 && errno == EAGAIN) return false;
  if (count <= 0) {
    if (hangs) hanging_ -= 1;
    return true;
  }
  begun.append(bytes.data(), static_cast<size_t>(count));
  if (hangs || !begun.ends_with("\r\n\r\n")) return false;
  requests_ += 1;
  const std::lock_guard lock(mutex_);
  if (heads_.size() < kKeptHeads) heads_.push_back(begun);
  if (target_of(begun).starts_with("/hang")) {
    hanging_ += 1;
    return false;
  }
  answer(socket, begun);
  return true;
}

void ProbeApp::answer(int socket, const std::string& head) {
  const std::string target = target_of(head);
  std::string bytes = reply(200, "11", "secret body");
  if (target.starts_with("/status/"))
    bytes = reply(std::atoi(target.c_str() + 8), "11", "secret body");
  if (target.starts_with("/cut")) bytes = reply(200, "100", "half");
  static_cast<void>(::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL));
}

}  // namespace holdfast::test
