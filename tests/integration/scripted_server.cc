#include "scripted_server.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"

namespace holdfast::test {

ScriptedServer::ScriptedServer(std::vector<Answers> connections)
    : script_(std::move(connections)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in where = {};
  where.sin_family = AF_INET;
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof where;
  auto* address = reinterpret_cast<sockaddr*>(&where);
  const bool listens = ::bind(listener_, address, size) == 0 && ::listen(listener_, 16) == 0 &&
                       ::getsockname(listener_, address, &size) == 0;
  HF_CHECK(listens, "a port on loopback can be had");
  port_ = ntohs(where.sin_port);
  thread_ = std::thread([this] { run(); });
}

ScriptedServer::~ScriptedServer() {
  ::shutdown(listener_, SHUT_RDWR);
  thread_.join();
  ::close(listener_);
}

std::string ScriptedServer::address() const {
  return "127.0.0.1:" + std::to_string(port_);
}

void ScriptedServer::run() {
  for (size_t number = 0;; ++number) {
    const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) return;
    const timeval patience = {.tv_sec = 10, .tv_usec = 0};
    ::setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (number < script_.size()) serve(connection, script_[number]);
    ::close(connection);
  }
}

void ScriptedServer::serve(int connection, const Answers& answers) {
  std::string heard;
  for (size_t at = 0;; ++at) {
    while (!heard.contains("\r\n\r\n")) {
      char some[1024];
      const ssize_t count = ::recv(connection, some, sizeof some, 0);
      if (count <= 0) return;
      heard.append(some, static_cast<size_t>(count));
    }
    heard.clear();
    requests_ += 1;
    if (at >= answers.size() || answers[at].empty()) return;
    const bool last = answers[at].ends_with('\f');
    ::send(connection, answers[at].data(), answers[at].size() - (last ? 1 : 0), MSG_NOSIGNAL);
    if (last) return;
  }
}

}  // namespace holdfast::test
