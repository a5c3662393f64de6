#include "tunnel/socket_end_service.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace holdfast::tunnel {
namespace {

constexpr std::chrono::milliseconds kLastPull(500);

bool would_block() {
  return errno == EAGAIN || errno == EINTR;
}

}  // namespace

SocketEnd::SocketEnd(net::StreamSocket socket, SocketEndOptions options)
    : shared_(std::make_shared<Shared>(std::move(socket), this)),
      already_read_(std::move(options.already_read)),
      on_ended_(std::move(options.on_ended)),
      socket_(shared_->socket.native_handle()) {}

SocketEnd::~SocketEnd() {
  // Only what ended both ways is closed in peace.
  if (ended_ && peer_ended_) {
    shared_->end = nullptr;
    boost::system::error_code ignored;  // closed either way
    shared_->socket.close(ignored);
  } else {
    abort();
  }
  if (on_ended_) on_ended_(report_);
}

net::StreamSocket SocketEnd::release() {
  HF_CHECK(link_ == nullptr, "the end is nobody's yet");
  return std::move(shared_->socket);
}

void SocketEnd::attached(Link& link, StreamId stream) {
  link_ = &link;
  stream_ = stream;
}

StreamEnd::Pulled SocketEnd::pull(std::span<char> into) {
  if (ended_) return {.ended = true};
  if (shared_->waits_to_read) return {};
  const size_t had = take_already_read(into);
  report_.to_peer += had;
  if (had == into.size()) return {.bytes = had};
  if (std::exchange(read_all_, false)) {
    wait_to_read();
    return {.bytes = had};
  }
  return pull_more(into, had);
}

size_t SocketEnd::take_already_read(std::span<char> into) {
  if (already_read_.empty()) return 0;
  const size_t bytes = std::min(into.size(), already_read_.size());
  std::memcpy(into.data(), already_read_.data(), bytes);
  already_read_.erase(0, bytes);
  if (already_read_.empty()) already_read_.shrink_to_fit();
  return bytes;
}

StreamEnd::Pulled SocketEnd::pull_more(std::span<char> into, size_t had) {
  errno = std::exchange(error_, 0);
  const ssize_t count =
      errno != 0 ? -1 : ::recv(socket_, into.data() + had, into.size() - had, MSG_DONTWAIT);
  if (count == 0) {
    ended_ = true;
    return {.bytes = had, .ended = true};
  }
  if (count < 0 && !would_block()) {
    broke();
    return {.bytes = had, .broken = true};
  }
  const size_t bytes = count < 0 ? 0 : static_cast<size_t>(count);
  report_.to_peer += bytes;
  if (had + bytes < into.size()) {
    wait_to_read();
  } else {
    watch_for_reset();
  }
  return {.bytes = had + bytes};
}

ssize_t SocketEnd::push(std::string_view bytes) {
  return pushed(::send(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL),
                bytes.size());
}

ssize_t SocketEnd::push_parts(std::span<const std::string_view> parts) {
  std::array<iovec, kMostParts> pieces{};
  size_t wanted = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    pieces[i] = {.iov_base = const_cast<char*>(parts[i].data()), .iov_len = parts[i].size()};
    wanted += parts[i].size();
  }
  const msghdr message{.msg_iov = pieces.data(), .msg_iovlen = parts.size()};
  return pushed(::sendmsg(socket_, &message, MSG_DONTWAIT | MSG_NOSIGNAL), wanted);
}

ssize_t SocketEnd::pushed(ssize_t count, size_t wanted) {
  if (count < 0 && !would_block()) {
    broke();
    return -1;
  }
  const size_t taken = count < 0 ? 0 : static_cast<size_t>(count);
  report_.from_peer += taken;
  if (taken < wanted) wait_to_write();
  return static_cast<ssize_t>(taken);
}

void SocketEnd::push_end() {
  peer_ended_ = true;
  if (ended_) return;                  // both halves have: it is closed next, which says the same
  (void)::shutdown(socket_, SHUT_WR);  // it may be gone: then reading says so
}

void SocketEnd::reset(ResetCode code, std::string_view why) {
  report_.reset = code;
  report_.why = why;
  abort();
}

void SocketEnd::wait_to_read() {
  if (shared_->waits_to_read) return;
  shared_->waits_to_read = true;
  shared_->socket.async_receive(
      asio::buffer(shared_->first),
      [shared = shared_](const boost::system::error_code& error, size_t bytes) {
        shared->waits_to_read = false;
        if (shared->end == nullptr) return;
        shared->end->came(bytes, error && error != asio::error::eof ? error.value() : 0);
      });
}

void SocketEnd::came(size_t bytes, int error) {
  already_read_.assign(shared_->first.data(), bytes);
  read_all_ = bytes > 0 && bytes < shared_->first.size();
  error_ = error;
  link_->woken(stream_);
}

void SocketEnd::wait_to_write() {
  if (shared_->waits_to_write) return;
  shared_->waits_to_write = true;
  shared_->socket.async_wait(net::StreamSocket::wait_write,
                             [shared = shared_](const boost::system::error_code& /*error*/) {
                               shared->waits_to_write = false;
                               SocketEnd* end = shared->end;
                               if (end != nullptr) end->link_->room(end->stream_);
                             });
}

// There is more to read, and it may be long before anybody does: the window may be closed. Asks the
// loop once; whatever else wakes it means nothing.
void SocketEnd::watch_for_reset() {
  if (std::exchange(shared_->watches, true)) return;
  shared_->socket.async_wait(net::StreamSocket::wait_error,
                             [shared = shared_](const boost::system::error_code& /*error*/) {
                               if (shared->end != nullptr) shared->end->on_error();
                             });
}

// What came before a reset is the peer's, as long as it takes any of it.
void SocketEnd::on_error() {
  pollfd state{.fd = socket_, .events = 0, .revents = 0};
  if (::poll(&state, 1, 0) != 1 || (state.revents & POLLERR) == 0) return;
  link_->ready(stream_);
  auto timer = std::make_unique<asio::steady_timer>(shared_->socket.get_executor(), kLastPull);
  asio::steady_timer& waiting = *timer;
  waiting.async_wait([shared = shared_, timer = std::move(timer),
                      before = report_.to_peer](const boost::system::error_code& /*error*/) {
    SocketEnd* end = shared->end;
    if (end == nullptr) return;
    if (end->report_.to_peer > before) return end->on_error();
    end->link_->reset(end->stream_, ResetCode::Broken, "the connection was reset");
  });
}

void SocketEnd::broke() {
  report_.reset = ResetCode::Broken;
  report_.why = std::strerror(errno);
}

void SocketEnd::abort() {
  shared_->end = nullptr;
  if (!shared_->socket.is_open()) return;
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  (void)::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  boost::system::error_code ignored;  // closed either way
  shared_->socket.close(ignored);
}

}  // namespace holdfast::tunnel
