#include "e2e/tunnel_app.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"

namespace holdfast::test {
namespace {

bool send_all(int socket, const char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t sent = ::send(socket, bytes, size, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes += sent;
    size -= static_cast<size_t>(sent);
  }
  return true;
}

}  // namespace

TunnelTestApp::TunnelTestApp() {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  const bool listens = ::bind(listener_, generic, size) == 0 && ::listen(listener_, 4096) == 0 &&
                       ::getsockname(listener_, generic, &size) == 0;
  HF_CHECK(listens, "a port of loopback is free");
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { accept_all(); });
}

TunnelTestApp::~TunnelTestApp() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    for (const int socket : open_) ::shutdown(socket, SHUT_RDWR);
  }
  ::shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  join_ended();
  for (;;) {  // who still ends takes itself off under the lock
    std::thread last;
    {
      const std::lock_guard lock(mutex_);
      if (served_.empty()) break;
      last = std::move(served_.begin()->second);
      served_.erase(served_.begin());
    }
    last.join();
  }
  join_ended();
  ::close(listener_);
}

void TunnelTestApp::join_ended() {
  std::vector<std::thread> ended;
  {
    const std::lock_guard lock(mutex_);
    ended.swap(ended_);
  }
  for (std::thread& each : ended) each.join();
}

void TunnelTestApp::accept_all() {
  for (;;) {
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    join_ended();
    const std::lock_guard lock(mutex_);
    if (ending_) {
      if (socket >= 0) ::close(socket);
      return;
    }
    if (socket < 0) continue;
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    open_.push_back(socket);
    std::thread server([this, socket] {
      serve(socket);
      const std::lock_guard closing(mutex_);
      std::erase(open_, socket);
      ::close(socket);
      const auto self = served_.find(std::this_thread::get_id());
      if (self == served_.end()) return;  // somebody joins it already
      ended_.push_back(std::move(self->second));
      served_.erase(self);
    });
    const std::thread::id id = server.get_id();
    served_.emplace(id, std::move(server));
  }
}

void TunnelTestApp::serve(int socket) {
  std::array<char, sizeof(Record)> first{};
  const ssize_t count = ::recv(socket, first.data(), first.size(), 0);
  if (count <= 0) return;
  if (count >= 4 && std::memcmp(first.data(), "GET ", 4) == 0) {
    serve_http(socket, {first.data(), static_cast<size_t>(count)});
  } else {
    serve_records(socket, {first.begin(), first.begin() + count});
  }
}

void TunnelTestApp::count(const Record& record, Course& course) {
  if (course.is_stranger) return;
  if (course.connection == 0) {
    course.connection = record.connection;
    course.is_stranger = record.number != 1;
    if (course.is_stranger) {
      ++strangers_;
      return;
    }
  }
  ++records_;
  const bool is_foreign = record.connection != course.connection;
  if (is_foreign || record.number < course.expected) {
    ++doubled_;
    return;
  }
  skipped_ += record.number - course.expected;
  course.expected = record.number + 1;
}

void TunnelTestApp::serve_records(int socket, std::vector<char> begun) {
  Course course;
  std::vector<char> bytes = std::move(begun);
  std::vector<char> more(64 << 10);
  for (;;) {
    const size_t whole = bytes.size() / sizeof(Record) * sizeof(Record);
    for (size_t at = 0; at < whole; at += sizeof(Record)) {
      Record record;
      std::memcpy(&record, bytes.data() + at, sizeof record);
      count(record, course);
    }
    if (!send_all(socket, bytes.data(), whole)) return;
    bytes.erase(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(whole));
    const ssize_t got = ::recv(socket, more.data(), more.size(), 0);
    if (got <= 0) return;
    bytes.insert(bytes.end(), more.begin(), more.begin() + got);
  }
}

// One request, one answer: the path, which the client made up.
void TunnelTestApp::serve_http(int socket, std::string begun) {
  std::array<char, 4096> more{};
  while (!begun.contains("\r\n\r\n") && begun.size() < 16 << 10) {
    const ssize_t got = ::recv(socket, more.data(), more.size(), 0);
    if (got <= 0) return;
    begun.append(more.data(), static_cast<size_t>(got));
  }
  const std::string path = begun.substr(4, begun.find(' ', 4) - 4);
  const std::string answer = fmt::format(
      "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}", path.size(), path);
  send_all(socket, answer.data(), answer.size());
}

}  // namespace holdfast::test
