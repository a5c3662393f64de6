// The dialling side of peer_link_service.h.
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <utility>

#include "base/reason.h"
#include "tunnel/peer_link_service.h"

namespace holdfast::tunnel {

DialledPeer::DialledPeer(ProxyShared& shared, std::unique_ptr<SecureConnection> connection,
                         Uses uses)
    : shared_(shared),
      uses_(std::move(uses)),
      who_(connection->peer),
      life_{.since = shared.parts.clock.wall_now(),
            .own_expires = uses_.own_expires,
            .peer_expires = connection->expires},
      welcome_by_(shared.parts.clock.now() + shared.options.hello_timeout),
      settled_(shared.parts.loop, asio::steady_timer::time_point::max()),
      link_({.loop = shared.parts.loop,
             .clock = shared.parts.clock,
             .buffers = shared.parts.buffers,
             .owner = *this},
            std::move(connection), shared.peer_link_options(Side::Opener)) {}

asio::awaitable<Status> DialledPeer::run() {
  v1::TunnelMessage message;
  v1::TunnelHello& hello = *message.mutable_hello();
  hello.set_name(shared_.options.name);
  hello.set_version(shared_.options.version);
  hello.set_zone(shared_.options.zone);
  hello.set_boot(shared_.options.boot);
  CO_TRY_OK(link_.send(message.SerializeAsString()));
  Status why = co_await link_.run();
  unlink();
  while (opening_ > 0) co_await settled_.async_wait(asio::as_tuple(asio::use_awaitable));
  co_return why;
}

asio::awaitable<Status> DialledPeer::open(const v1::OpenStream& wanted,
                                          std::unique_ptr<StreamEnd>& end, Duration timeout) {
  ProxyShared::StreamTarget target{.agent = wanted.agent(), .payload = wanted.SerializeAsString()};
  opening_ += 1;
  Status opened = co_await shared_.open_on(link_, std::move(target), end, timeout);
  opening_ -= 1;
  if (opening_ == 0) settled_.cancel();
  co_return opened;
}

void DialledPeer::on_tick(Time now) {
  if (!welcomed_) {
    if (now >= welcome_by_) {
      link_.close(coded(absl::StatusCode::kDeadlineExceeded, "HF2114", "no welcome in time"));
    }
    return;
  }
  check_certificate();
  const Time last = link_.session().last_frame();
  if (!linked_ || last <= heard_) return;
  heard_ = last;
  shared_.discovery.peer_alive(who_.name, last);
}

bool DialledPeer::nears_its_end(Duration lead) const {
  return is_renewal_due(life_, shared_.validity.not_after, lead, shared_.parts.clock.wall_now());
}

// The peer's; ours is for the peer to judge.
void DialledPeer::check_certificate() {
  const WallTime now = shared_.parts.clock.wall_now();
  const Standing standing = standing_of(life_.peer_expires, shared_.options.expired_grace, now);
  if (standing == Standing::Good) return;
  say_goodbye("the certificate of this link has expired");
  if (standing == Standing::Expired) return;
  link_.close(
      coded(absl::StatusCode::kUnauthenticated, kCertificateExpired, "its certificate is too old"));
}

// The peer stays linked: by the other one.
void DialledPeer::retire() {
  linked_ = false;
  link_.say_goodbye("another link has taken its place");
}

void DialledPeer::say_goodbye(std::string_view why) {
  unlink();
  link_.say_goodbye(why);
}

void DialledPeer::unlink() {
  if (!std::exchange(linked_, false)) return;
  shared_.peers.lost(who_.name, shared_.parts.clock.now());
}

// The dialled proxy opens none: it has a link of its own.
void DialledPeer::on_open(Link& link, StreamId stream, std::string_view /*payload*/) {
  link.reset(stream, ResetCode::NotAllowed, "only the proxy that dialled opens streams");
}

Status DialledPeer::on_message(Link& /*link*/, std::string_view payload) {
  v1::TunnelMessage message;
  if (!message.ParseFromArray(payload.data(), static_cast<int>(payload.size()))) {
    return coded(absl::StatusCode::kInvalidArgument, "HF2108", "a message cannot be read");
  }
  if (!welcomed_) return take_first(message);
  if (!linked_) return absl::OkStatus();
  if (message.has_advice()) uses_.said(true);
  if (!message.has_holding()) return absl::OkStatus();
  shared_.news_of_peers();
  return shared_.peers.holding(who_.name, message.holding());
}

Status DialledPeer::take_first(const v1::TunnelMessage& message) {
  if (message.has_refusal()) return read_refusal(message.refusal());
  if (!message.has_welcome()) {
    return coded(absl::StatusCode::kInvalidArgument, "HF2108", "the first message is no welcome");
  }
  TRY_OK(shared_.peers.linked(who_.name, who_.zone));
  welcomed_ = true;
  linked_ = true;
  uses_.linked(*this);
  heard_ = shared_.parts.clock.now();
  shared_.discovery.peer_alive(who_.name, heard_);
  uses_.said(message.welcome().draining());
  return absl::OkStatus();
}

// Streams that run go on; new ones go elsewhere.
void DialledPeer::on_goodbye(Link& /*link*/, std::string_view /*why*/) {
  unlink();
}

}  // namespace holdfast::tunnel
