#include "tunnel/door_service.h"

#include <sys/socket.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "net/as_value.h"
#include "net/within.h"

namespace holdfast::tunnel {
namespace {

using net::kAsValue;
constexpr Duration kAcceptPause = std::chrono::milliseconds(100);  // without descriptors
constexpr Duration kShortestTurn = std::chrono::milliseconds(1);
constexpr Duration kLongestTurn = std::chrono::seconds(1);

void end_wait(net::StreamSocket& socket) {
  boost::system::error_code ignored;
  socket.close(ignored);
}

// OK if there is a byte to read; an end is none.
asio::awaitable<Status> readable(net::StreamSocket& socket) {
  const auto [error] = co_await socket.async_wait(asio::socket_base::wait_read, kAsValue);
  if (error) co_return absl::UnavailableError(error.message());
  char byte = 0;
  const ssize_t got = ::recv(socket.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  co_return got == 1 ? absl::OkStatus() : absl::UnavailableError("it left without a byte");
}

}  // namespace

Door::Door(Parts parts, const AdmissionOptions& options, uint64_t seed, Enter enter)
    : parts_(std::move(parts)),
      first_byte_(options.first_byte),
      admission_(options, seed, parts_.clock.now()),
      enter_(std::move(enter)),
      listener_(parts_.loop),
      turn_(parts_.loop),
      room_(parts_.loop),
      tasks_(parts_.loop) {}

void Door::start() {
  tasks_.spawn(accept());
  tasks_.spawn(admit());
}

void Door::close() {
  closed_ = true;
  listener_.close();
  for (auto& [ticket, socket] : waiting_) end_wait(socket);
  turn_.cancel();
  room_.cancel();
}

asio::awaitable<void> Door::accept() {
  while (!closed_) {
    if (!admission_.may_accept()) {
      room_.expires_after(kLongestTurn);
      co_await room_.async_wait(kAsValue);
      continue;
    }
    Result<Listener::Came> came = co_await listener_.accept();
    if (closed_ || absl::IsCancelled(came.status())) co_return;
    if (!came.ok()) {
      no_descriptors_ += 1;
      const bool waited = co_await net::pause(kAcceptPause);
      if (!waited) co_return;
      continue;
    }
    const auto ticket = admission_.arrive(came->counted_as, parts_.clock.now());
    if (!ticket) continue;  // closes it
    waiting_.emplace(*ticket, std::move(came->socket));
    tasks_.spawn(await_byte(*ticket));
    const auto quiet = admission_.make_room(parts_.clock.now());
    const auto found = quiet ? waiting_.find(*quiet) : waiting_.end();
    if (found != waiting_.end()) end_wait(found->second);
  }
}

// Only this coroutine removes a socket that it waits for: Asio still refers to the socket when
// join() cancels the wait. Others close it, and the wait ends with an error.
asio::awaitable<void> Door::await_byte(Admission::Ticket ticket) {
  const auto found = waiting_.find(ticket);
  if (found == waiting_.end()) co_return;
  const net::StreamSocket& socket = found->second;
  const Status spoke = co_await net::within(first_byte_, readable(found->second),
                                            absl::DeadlineExceededError("it said nothing"));
  if (closed_) {
    waiting_.erase(ticket);
    co_return;
  }
  if (spoke.ok() && socket.is_open()) {
    admission_.spoke(ticket);
  } else {
    admission_.finish(ticket, Admission::Outcome::Quiet, parts_.clock.now());
    waiting_.erase(ticket);
  }
  // The deadline of who waits may be another now.
  turn_.cancel();
}

asio::awaitable<void> Door::admit() {
  while (!closed_) {
    start_next();
    const Time now = parts_.clock.now();
    const std::optional<Time> due = admission_.next_deadline(now);
    const Duration wait = due ? std::max(*due - now, kShortestTurn) : kLongestTurn;
    turn_.expires_after(std::min(wait, kLongestTurn));
    co_await turn_.async_wait(kAsValue);
  }
}

void Door::start_next() {
  while (const auto start = admission_.next(parts_.clock.now())) {
    auto socket = waiting_.extract(start->ticket);
    HF_CHECK(!socket.empty(), "who is admitted was waiting");
    tasks_.spawn(enter_(std::move(socket.mapped()), *start));
  }
  if (admission_.may_accept()) room_.cancel();
}

void Door::finish(Admission::Ticket ticket, Admission::Outcome outcome) {
  if (outcome != Admission::Outcome::Failed) admission_.authenticated(ticket);
  admission_.finish(ticket, outcome, parts_.clock.now());
  turn_.cancel();
}

}  // namespace holdfast::tunnel
