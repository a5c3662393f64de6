#include "e2e/spill_world.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>

#include "base/check.h"

namespace holdfast::test {
namespace {

constexpr int kTickMs = 2;
// How long a client waits for its first byte.
constexpr Duration kSpillWorldPatience = std::chrono::seconds(10);
// Of the connections of a second, those that stay in their zone: a change of less is chance.
constexpr double kNoise = 0.15;

sockaddr_in on_loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// Of a socket that a child just forked still holds, epoll goes on to tell after it was closed.
void close_watched(int events, int socket) {
  ::epoll_ctl(events, EPOLL_CTL_DEL, socket, nullptr);
  ::close(socket);
}

void watch(int events, int socket) {
  epoll_event wanted{};
  wanted.events = EPOLLIN;
  wanted.data.fd = socket;
  HF_CHECK(::epoll_ctl(events, EPOLL_CTL_ADD, socket, &wanted) == 0, "epoll takes a socket");
}

// Those of `events` that have something to read, within a tick.
std::vector<int> ready(int events) {
  std::array<epoll_event, 128> found{};
  const int count = ::epoll_wait(events, found.data(), found.size(), kTickMs);
  std::vector<int> sockets;
  for (int i = 0; i < count; ++i) sockets.push_back(found[static_cast<size_t>(i)].data.fd);
  return sockets;
}

}  // namespace

ZoneApp::ZoneApp(char zone, uint64_t capacity) : zone_(zone), capacity_(capacity) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  sockaddr_in address = on_loopback(0);
  socklen_t size = sizeof address;
  HF_CHECK(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0, "a free port");
  HF_CHECK(::listen(listener_, 1024) == 0, "it listens");
  ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
  port_ = ntohs(address.sin_port);
  events_ = ::epoll_create1(EPOLL_CLOEXEC);
  watch(events_, listener_);
  thread_ = std::thread([this] { run(); });
}

ZoneApp::~ZoneApp() {
  ending_ = true;
  thread_.join();
  ::close(listener_);
  ::close(events_);
}

void ZoneApp::run() {
  while (!ending_) {
    // Who left made room for who came, and is seen first.
    const std::vector<int> sockets = ready(events_);
    for (const int socket : sockets) {
      if (socket != listener_) leave(socket);
    }
    if (std::ranges::find(sockets, listener_) != sockets.end()) accept_one();
  }
}

void ZoneApp::accept_one() {
  const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (socket < 0) return;
  watch(events_, socket);
  accepted_ += 1;
  active_ += 1;
  if (active_ > capacity_) beyond_ += 1;
  peak_ = std::max<uint64_t>(peak_, active_);
  ::send(socket, &zone_, 1, MSG_NOSIGNAL);
}

void ZoneApp::leave(int socket) {
  char byte = 0;
  const ssize_t got = ::recv(socket, &byte, 1, 0);
  if (got > 0 || (got < 0 && errno == EAGAIN)) return;
  close_watched(events_, socket);
  active_ -= 1;
}

SpillClients::SpillClients(uint16_t port, Duration hold)
    : port_(port), hold_(hold), events_(::epoll_create1(EPOLL_CLOEXEC)) {
  thread_ = std::thread([this] { run(); });
}

SpillClients::~SpillClients() {
  ending_ = true;
  thread_.join();
  for (const auto& [socket, open] : open_) ::close(socket);
  ::close(events_);
}

void SpillClients::note(char zone) {
  const std::lock_guard lock(mutex_);
  counts_[zone] += 1;
}

std::map<char, uint64_t> SpillClients::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(counts_, {});
}

void SpillClients::begin(Time now) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const sockaddr_in address = on_loopback(port_);
  const bool begun =
      ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ||
      errno == EINPROGRESS;
  if (!begun) {
    ::close(socket);
    return note('-');
  }
  watch(events_, socket);
  const Time given_up = now + kSpillWorldPatience;
  open_[socket] = {.socket = socket, .ends = given_up};
  ends_.emplace(given_up, socket);
}

void SpillClients::read_first(int socket) {
  const auto found = open_.find(socket);
  if (found == open_.end()) return;
  char zone = 0;
  const ssize_t got = ::recv(socket, &zone, 1, 0);
  if (got < 0 && errno == EAGAIN) return;
  if (got == 1) {
    found->second.served = true;
    found->second.ends = clock_.now() + hold_;
    ends_.emplace(found->second.ends, socket);
    return note(zone);
  }
  if (!found->second.served) note('-');
  close_watched(events_, socket);
  open_.erase(found);
}

void SpillClients::end_due(Time now) {
  while (!ends_.empty() && ends_.begin()->first <= now) {
    const auto [when, socket] = *ends_.begin();
    ends_.erase(ends_.begin());
    const auto found = open_.find(socket);
    // The number may be another's by now.
    if (found == open_.end() || found->second.ends != when) continue;
    if (!found->second.served) note('-');
    close_watched(events_, socket);
    open_.erase(found);
  }
}

void SpillClients::run() {
  Time due = clock_.now();
  while (!ending_) {
    for (const int socket : ready(events_)) read_first(socket);
    const Time now = clock_.now();
    end_due(now);
    const double rate = rate_;
    if (rate <= 0) due = now;
    // After a pause of the machine it goes on at its rate, and does not catch up in a burst.
    due = std::max(due, now - std::chrono::milliseconds(50));
    while (rate > 0 && due <= now && left_ > 0) {
      begin(now);
      --left_;
      due += std::chrono::duration_cast<Duration>(std::chrono::duration<double>(1 / rate));
    }
  }
}

int reversals(const std::vector<double>& shares) {
  int turns = 0;
  int direction = 0;
  double from = shares.front();
  for (const double share : shares) {
    const double moved = share - from;
    if (std::abs(moved) < kNoise) {
      // Further the same way, or chance.
      if (moved * direction > 0) from = share;
      continue;
    }
    const int way = moved > 0 ? 1 : -1;
    if (direction != 0 && way != direction) turns += 1;
    direction = way;
    from = share;
  }
  return turns;
}

}  // namespace holdfast::test
