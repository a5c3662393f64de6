#include "tunnel/held_tunnel_service.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <utility>

#include "base/log.h"
#include "base/reason.h"
#include "tunnel/exposed_facts.h"
#include "tunnel/renewal.h"

namespace holdfast::tunnel {
namespace {

Status draining() {
  return coded(absl::StatusCode::kUnavailable, "HF2113", "the proxy is draining");
}

}  // namespace

HeldTunnel::HeldTunnel(ProxyShared& shared, std::unique_ptr<SecureConnection> connection,
                       Admitted admitted)
    : shared_(shared),
      admitted_(std::move(admitted)),
      who_(connection->peer),
      address_(connection->address),
      since_(shared.parts.clock.wall_now()),
      expires_(connection->expires),
      settled_(shared.parts.loop, asio::steady_timer::time_point::max()),
      link_({.loop = shared.parts.loop,
             .clock = shared.parts.clock,
             .buffers = shared.parts.buffers,
             .owner = *this},
            std::move(connection), shared.link_options(Side::Opener)) {}

HeldTunnel::~HeldTunnel() = default;

asio::awaitable<Status> HeldTunnel::run() {
  Status why = co_await link_.run();
  if (id_ != 0) {
    shared_.table.remove(id_);
    shared_.drain.tunnel_gone(id_);
    shared_.periodic.tunnel_gone(id_);
    shared_.wake();
    (left_ ? shared_.counts.tunnels_left : shared_.counts.tunnels_lost) += 1;
  }
  // Whoever opens a stream on it is in one of its functions.
  while (opening_ > 0) co_await settled_.async_wait(asio::as_tuple(asio::use_awaitable));
  co_return why;
}

asio::awaitable<Status> HeldTunnel::open(v1::OpenStream wanted, std::unique_ptr<StreamEnd>& end,
                                         Duration timeout) {
  wanted.clear_agent();
  ProxyShared::StreamTarget target{
      .agent = who_.name, .tunnel = id_, .payload = wanted.SerializeAsString()};
  opening_ += 1;
  Status opened = co_await shared_.open_on(link_, std::move(target), end, timeout);
  // Too late because the target is slow, or because nothing comes through any more?
  const Duration silent = shared_.parts.clock.now() - link_.session().last_frame();
  if (absl::IsDeadlineExceeded(opened) && silent > shared_.session.keepalive * 2 &&
      shared_.table.found_dead(id_)) {
    link_.close(coded(absl::StatusCode::kUnavailable, "HF2001", "a stream found it dead"));
  }
  opening_ -= 1;
  if (opening_ == 0) settled_.cancel();
  co_return opened;
}

void HeldTunnel::advise(std::string_view code, std::string_view reason, Duration closes_in) {
  if (link_.send(tunnel::advice(code, reason, closes_in)).ok()) {
    shared_.counts.advised[std::string(code)] += 1;
    advised_ = true;
  }
}

// What does not fit now is told at the next occasion, from the same place.
void HeldTunnel::send_discovery(Time now) {
  if (id_ == 0) return;
  const Discovery::Cursor before = told_;
  for (const Discovery::Bytes& message : shared_.discovery.take(told_, now)) {
    const bool sent = link_.send(*message).ok();
    (sent ? shared_.counts.discovery_sent : shared_.counts.discovery_dropped) += 1;
    if (sent) continue;
    told_ = before;
    return;
  }
}

void HeldTunnel::on_tick(Time now) {
  if (id_ != 0) {
    const Time last = link_.session().last_frame();
    if (last > std::exchange(heard_, last)) shared_.table.heard(id_, last);
    check_certificate();
  } else if (!greeted_ && now >= admitted_.hello_by) {
    greeted_ = true;
    link_.close(coded(absl::StatusCode::kDeadlineExceeded, "HF2114", "no hello in time"));
  }
}

// Who does not get a new certificate any more does not belong to the cluster any more. An agent
// that has one connects again; nothing new comes to it here, and what runs has a while.
void HeldTunnel::check_certificate() {
  const Duration grace = shared_.options.expired_grace;
  const Standing standing = standing_of(expires_, grace, shared_.parts.clock.wall_now());
  if (standing == Standing::Good) return;
  if (standing == Standing::Over) {
    return link_.close(coded(absl::StatusCode::kUnauthenticated, kCertificateExpired,
                             "its certificate is too old"));
  }
  if (std::exchange(expired_, true)) return;
  shared_.table.leave(id_);
  advise(kCertificateExpired, "the certificate of this tunnel has expired", grace);
  shared_.wake();
}

// Agents accept streams, they do not open any.
void HeldTunnel::on_open(Link& link, StreamId stream, std::string_view /*payload*/) {
  link.reset(stream, ResetCode::NotAllowed, "only proxies open streams");
}

Status HeldTunnel::on_message(Link& /*link*/, std::string_view payload) {
  if (!greeted_) {
    greet(payload);
    return absl::OkStatus();
  }
  if (id_ == 0) return absl::OkStatus();  // refused: it may not know yet
  v1::TunnelMessage message;
  if (!message.ParseFromArray(payload.data(), static_cast<int>(payload.size()))) {
    return coded(absl::StatusCode::kInvalidArgument, "HF2108", "a message cannot be read");
  }
  // What a newer agent says besides is not for us.
  return message.has_exposed() ? take_exposed(message.exposed()) : absl::OkStatus();
}

void HeldTunnel::on_goodbye(Link& /*link*/, std::string_view why) {
  left_ = true;
  if (id_ == 0) return;
  log::debug("an agent leaves", {{"agent", who_.name}, {"why", why}});
  shared_.table.leave(id_);
  shared_.wake();
}

void HeldTunnel::greet(std::string_view payload) {
  greeted_ = true;
  Status fits = check_caller(who_, shared_.rules(identity::Role::Agent));
  Result<v1::TunnelHello> hello = v1::TunnelHello();
  if (fits.ok()) {
    hello = read_hello(payload, who_);
    fits = hello.status();
  }
  if (!fits.ok()) {
    admitted_.greeted(*this, Admission::Outcome::Failed);
    return refuse(fits, Duration::zero());
  }
  Duration retry_after = admitted_.refuse.value_or(Duration::zero());
  if (admitted_.refuse) {
    fits = coded(absl::StatusCode::kResourceExhausted, "HF2103", "too many tunnels begin at once");
  } else {
    fits = shared_.refuse_tunnels ? draining() : welcome(*hello);
    if (!fits.ok()) retry_after = admitted_.retry();
  }
  admitted_.greeted(*this, fits.ok() ? Admission::Outcome::Admitted : Admission::Outcome::Refused);
  if (!fits.ok()) refuse(fits, retry_after);
}

Status HeldTunnel::welcome(const v1::TunnelHello& hello) {
  const Time now = shared_.parts.clock.now();
  TRY(id_,
      shared_.table.add(
          {.agent = who_.name, .zone = who_.zone, .boot = hello.boot(), .exposed = hello.exposed()},
          now));
  version_ = hello.version();
  exposed_ = hello.exposed();
  const Status sent = link_.send(shared_.welcome());
  if (!sent.ok()) link_.close(sent);
  send_discovery(now);
  // The hello is its first sign of life.
  shared_.table.heard(id_, now);
  shared_.drain.tunnel_added(id_, now);
  shared_.periodic.tunnel_added(id_, now);
  shared_.wake();
  log::debug("a tunnel came", {{"agent", who_.name}, {"from", address_}});
  return absl::OkStatus();
}

// The connection ends when the refusal is out.
void HeldTunnel::refuse(const Status& why, Duration retry_after) {
  shared_.counts.refused_tunnels[std::string(split_reason(why).code)] += 1;
  if (shared_.may_log())
    log::info("a tunnel was refused", {{"who", identity::to_string(who_)},
                                       {"from", address_},
                                       {"why", split_reason(why).message},
                                       {"code", split_reason(why).code}});
  if (const Status sent = link_.send(refusal(why, retry_after)); !sent.ok()) link_.close(sent);
  link_.say_goodbye("refused");
}

Status HeldTunnel::take_exposed(const v1::Exposed& exposed) {
  TRY_OK(check_exposed(exposed));
  exposed_ = exposed;
  shared_.table.exposed(id_, exposed);
  shared_.wake();
  return absl::OkStatus();
}

TunnelStatus HeldTunnel::describe() const {
  TunnelStatus status{.agent = who_.name,
                      .zone = who_.zone,
                      .address = address_,
                      .version = version_,
                      .since = since_,
                      .round_trip = link_.session().round_trip(),
                      .streams = link_.session().streams(),
                      .state = advised_ ? "advised" : "connected"};
  const std::optional<TunnelRow> row = shared_.table.find(id_);
  if (row && !row->valid) status.state = "silent";
  if (row && row->leaving) status.state = "leaving";
  for (const v1::ExposedService& service : exposed_.services()) {
    status.services.push_back(service.service());
  }
  return status;
}

}  // namespace holdfast::tunnel
