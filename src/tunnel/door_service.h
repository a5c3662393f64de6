// Where tunnels or peers come in: a listener, and in front of it an admission that lets them
// through no faster than it may.
//
//   accept ─► await_byte ─► Admission ─► enter(socket, ticket) ─► finish(ticket)
//                 └ nothing in time: closed, and it never had a slot
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>

#include "base/clock.h"
#include "net/task_group.h"
#include "tunnel/admission.h"
#include "tunnel/listener_service.h"

namespace holdfast::tunnel {

class Door {
 public:
  // What comes in is served by this until it is over; it says finish() by the end of the handshake.
  using Enter = std::function<asio::awaitable<void>(net::StreamSocket, Admission::Start)>;
  struct Parts {
    asio::any_io_executor loop;
    const Clock& clock;
  };
  Door(Parts parts, const AdmissionOptions& options, uint64_t seed, Enter enter);

  Result<std::string> listen(const std::string& address) { return listener_.listen(address); }
  void start();
  // Nobody comes in from now on.
  void close();
  // Ends what came in, too. Requires: close().
  asio::awaitable<void> join() { return tasks_.join(); }

  // As Admission's.
  void finish(Admission::Ticket ticket, Admission::Outcome outcome);
  Duration retry_after() { return admission_.retry_after(parts_.clock.now()); }
  bool is_closed() const { return closed_; }
  const Admission& admission() const { return admission_; }
  uint64_t no_descriptors() const { return no_descriptors_; }

 private:
  asio::awaitable<void> accept();
  asio::awaitable<void> await_byte(Admission::Ticket ticket);
  asio::awaitable<void> admit();
  void start_next();

  Parts parts_;
  const Duration first_byte_;
  Admission admission_;
  Enter enter_;
  Listener listener_;
  // Sockets before their first byte, until await_byte() has ended, and after it until admitted.
  std::unordered_map<Admission::Ticket, net::StreamSocket> waiting_;
  bool closed_ = false;
  uint64_t no_descriptors_ = 0;  // times nothing could be accepted for want of them
  asio::steady_timer turn_;      // cancelled when someone may be admitted
  asio::steady_timer room_;      // cancelled when another may be accepted
  net::TaskGroup tasks_;
};

}  // namespace holdfast::tunnel
