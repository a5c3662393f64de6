#include "probe_callers.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "base/check.h"
#include "delays.h"

namespace holdfast::bench {
namespace {

class Callers {
 public:
  explicit Callers(const CallerLoad& load)
      : load_(load),
        poll_(::epoll_create1(EPOLL_CLOEXEC)),
        request_(fmt::format("GET {} HTTP/1.1\r\nHost: a\r\n{}\r\n", load.target,
                             load.kept ? "" : "Connection: close\r\n")) {}
  ~Callers() {
    for (const auto& [socket, asked] : asked_) ::close(socket);
    ::close(poll_);
  }

  ProbeTimes run() {
    const int64_t start = now_nanoseconds();
    const int64_t end = start + load_.time.count();
    for (int i = 0; i < load_.at_once; ++i) connect();
    std::array<epoll_event, 64> events;
    while (delays_.count() < load_.count && now_nanoseconds() < end) {
      const int count = ::epoll_wait(poll_, events.data(), events.size(), 1'000);
      for (int i = 0; i < count; ++i) read(events[static_cast<size_t>(i)].data.fd);
    }
    const double seconds = static_cast<double>(now_nanoseconds() - start) / 1e9;
    return {.per_second = static_cast<double>(delays_.count()) / seconds,
            .p50_us = delays_.percentile_ms(0.5) * 1e3,
            .p99_us = delays_.percentile_ms(0.99) * 1e3,
            .made = delays_.count(),
            .unhealthy = unhealthy_};
  }

 private:
  // On loopback this does not wait.
  void connect() {
    const int64_t now = now_nanoseconds();
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const linger reset{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(load_.port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int made = ::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address));
    HF_CHECK(made == 0, "connecting to the handler");
    epoll_event event{.events = EPOLLIN, .data = {.fd = socket}};
    ::epoll_ctl(poll_, EPOLL_CTL_ADD, socket, &event);
    ask(socket, now);
  }

  void ask(int socket, int64_t now) {
    asked_[socket] = now;
    static_cast<void>(::send(socket, request_.data(), request_.size(), MSG_NOSIGNAL));
  }

  // An answer is small and comes at once.
  void read(int socket) {
    std::array<char, 2'048> bytes;
    const ssize_t count = ::recv(socket, bytes.data(), bytes.size(), 0);
    const int64_t now = now_nanoseconds();
    delays_.record(now - asked_[socket]);
    const std::string_view text(bytes.data(), static_cast<size_t>(std::max<ssize_t>(count, 0)));
    unhealthy_ += text.starts_with("HTTP/1.1 200 ") && text.ends_with('\n') ? 0 : 1;
    if (load_.kept && count > 0) return ask(socket, now);
    asked_.erase(socket);
    ::close(socket);
    connect();
  }

  CallerLoad load_;
  int poll_;
  std::string request_;
  std::map<int, int64_t> asked_;  // when
  DelayHistogram delays_;
  uint64_t unhealthy_ = 0;
};

}  // namespace

ProbeTimes call_handler(const CallerLoad& load) {
  return Callers(load).run();
}

}  // namespace holdfast::bench
