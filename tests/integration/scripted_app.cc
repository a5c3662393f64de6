#include "scripted_app.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "base/check.h"

namespace holdfast::test {

ScriptedApp::ScriptedApp(Reply reply, bool ipv6)
    : ScriptedApp([reply](const std::string&) { return reply; }, ipv6) {}

ScriptedApp::ScriptedApp(Answer answer, bool ipv6)
    : answer_(std::move(answer)),
      listener_(::socket(ipv6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in6 six = {};
  six.sin6_family = AF_INET6;
  six.sin6_addr = in6addr_loopback;
  sockaddr_in four = {};
  four.sin_family = AF_INET;
  four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* where = ipv6 ? reinterpret_cast<sockaddr*>(&six) : reinterpret_cast<sockaddr*>(&four);
  socklen_t size = ipv6 ? sizeof six : sizeof four;
  const bool listens = ::bind(listener_, where, size) == 0 && ::listen(listener_, 128) == 0 &&
                       ::getsockname(listener_, where, &size) == 0;
  HF_CHECK(listens, "a port on loopback can be had");
  port_ = ntohs(ipv6 ? six.sin6_port : four.sin_port);
  acceptor_ = std::thread([this] { run(); });
}

ScriptedApp::~ScriptedApp() {
  ::shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  {
    const std::lock_guard lock(mutex_);
    for (const int connection : open_) ::shutdown(connection, SHUT_RDWR);
  }
  for (std::thread& thread : threads_) thread.join();
  ::close(listener_);
}

std::vector<std::string> ScriptedApp::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

std::vector<std::string> ScriptedApp::peers() const {
  const std::lock_guard lock(mutex_);
  return peers_;
}

void ScriptedApp::run() {
  for (;;) {
    sockaddr_in peer = {};
    socklen_t size = sizeof peer;
    const int connection =
        ::accept4(listener_, reinterpret_cast<sockaddr*>(&peer), &size, SOCK_CLOEXEC);
    if (connection < 0) return;
    connections_ += 1;
    char text[INET_ADDRSTRLEN] = "";
    if (peer.sin_family == AF_INET) ::inet_ntop(AF_INET, &peer.sin_addr, text, sizeof text);
    const std::lock_guard lock(mutex_);
    peers_.emplace_back(text);
    open_.push_back(connection);
    threads_.emplace_back([this, connection] { serve(connection); });
  }
}

bool ScriptedApp::read_request(int connection, std::string& request) {
  while (!request.contains("\r\n\r\n") && request.size() < enough_) {
    char some[1024];
    const ssize_t count = ::recv(connection, some, sizeof some, 0);
    if (count <= 0) {
      resets_ += count < 0 && errno == ECONNRESET ? 1 : 0;
      left_ += 1;
      return false;
    }
    request.append(some, static_cast<size_t>(count));
  }
  return true;
}

void ScriptedApp::watch_end(int connection) {
  char some[1024];
  ssize_t count = 1;
  while (count > 0) count = ::recv(connection, some, sizeof some, 0);
  resets_ += count < 0 && errno == ECONNRESET ? 1 : 0;
  left_ += 1;
}

void ScriptedApp::serve(int connection) {
  std::string request;
  const bool asked = read_request(connection, request);
  {
    const std::lock_guard lock(mutex_);
    if (asked) requests_.push_back(request);
  }
  if (asked) {
    const Reply reply = answer_(request);
    ::send(connection, reply.bytes.data(), reply.bytes.size(), MSG_NOSIGNAL);
    if (reply.hold) watch_end(connection);
  }
  const std::lock_guard lock(mutex_);
  open_.remove(connection);
  ::close(connection);
}

std::string http_answer(int status, const std::string& body, const std::string& headers) {
  return fmt::format("HTTP/1.1 {} Word\r\nContent-Length: {}\r\n{}\r\n{}", status, body.size(),
                     headers, body);
}

}  // namespace holdfast::test
