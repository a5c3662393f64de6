// The dialled side of peer_link_service.h.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/reason.h"
#include "tunnel/peer_link_service.h"

namespace holdfast::tunnel {
namespace {

// Of a Holding: leaves room for what stands around it in its frame.
constexpr size_t kMaxHoldingBytes = kMaxMessageBytes - 1'024;

}  // namespace

CallingPeer::CallingPeer(ProxyShared& shared, std::unique_ptr<SecureConnection> connection,
                         Uses uses)
    : shared_(shared),
      uses_(std::move(uses)),
      who_(connection->peer),
      expires_(connection->expires),
      relays_(shared.parts.loop),
      link_({.loop = shared.parts.loop,
             .clock = shared.parts.clock,
             .buffers = shared.parts.buffers,
             .owner = *this},
            std::move(connection), shared.peer_link_options(Side::Acceptor)) {}

asio::awaitable<Status> CallingPeer::run() {
  Status why = co_await link_.run();
  co_await relays_.join();
  co_return why;
}

// What does not fit now is told at the next occasion, from the same place.
void CallingPeer::send_holding() {
  while (welcomed_) {
    const TunnelTable::Cursor before = told_;
    const std::optional<v1::Holding> holding = shared_.table.next_holding(told_, kMaxHoldingBytes);
    if (!holding) return;
    v1::TunnelMessage message;
    *message.mutable_holding() = *holding;
    if (!link_.send(message.SerializeAsString()).ok()) {
      told_ = before;
      return;
    }
    shared_.counts.holding_sent += 1;
  }
}

void CallingPeer::advise(std::string_view code, std::string_view reason, Duration closes_in) {
  // A peer that does not read learns it from the refusals.
  if (welcomed_) link_.send(tunnel::advice(code, reason, closes_in)).IgnoreError();
}

void CallingPeer::on_tick(Time now) {
  if (welcomed_) {
    check_certificate();
    if (leave_by_ && now >= *leave_by_) link_.say_goodbye("a newer link came");
  } else if (!greeted_ && now >= uses_.hello_by) {
    greeted_ = true;
    link_.close(coded(absl::StatusCode::kDeadlineExceeded, "HF2114", "no hello in time"));
  }
}

// A peer that has a newer one dials anew before this; after a goodbye it may open nothing here.
void CallingPeer::check_certificate() {
  const WallTime now = shared_.parts.clock.wall_now();
  const Standing standing = standing_of(expires_, shared_.options.expired_grace, now);
  if (standing == Standing::Good) return;
  link_.say_goodbye("the certificate of this link has expired");
  if (standing == Standing::Expired) return;
  link_.close(
      coded(absl::StatusCode::kUnauthenticated, kCertificateExpired, "its certificate is too old"));
}

Status CallingPeer::judge(std::string_view payload) const {
  TRY_OK(check_caller(who_, shared_.rules(identity::Role::Proxy)));
  TRY_OK(read_hello(payload, who_).status());
  if (who_.name == shared_.options.name) {
    return coded(absl::StatusCode::kPermissionDenied, "HF2115",
                 fmt::format("another proxy is called {}, too", who_.name));
  }
  if (!uses_.full) return absl::OkStatus();
  return coded(absl::StatusCode::kResourceExhausted, "HF2103", "too many links at once");
}

Status CallingPeer::on_message(Link& /*link*/, std::string_view payload) {
  if (std::exchange(greeted_, true)) return absl::OkStatus();  // a newer peer's words
  const Status fits = judge(payload);
  if (fits.ok()) TRY_OK(link_.send(shared_.welcome()));
  welcomed_ = fits.ok();
  uses_.greeted(*this, fits.ok());
  if (!fits.ok()) refuse(fits);
  send_holding();
  return absl::OkStatus();
}

void CallingPeer::refuse(const Status& why) {
  shared_.counts.refused_peers[std::string(split_reason(why).code)] += 1;
  if (shared_.may_log())
    log::warn("a peer was refused", {{"who", identity::to_string(who_)},
                                     {"why", split_reason(why).message},
                                     {"code", split_reason(why).code}});
  if (const Status sent = link_.send(refusal(why, Duration::zero())); !sent.ok()) link_.close(sent);
  link_.say_goodbye("refused");
}

void CallingPeer::on_goodbye(Link& /*link*/, std::string_view /*why*/) {}

void CallingPeer::refuse_stream(StreamId stream, ResetCode code, std::string_view why) {
  shared_.counts.relays_refused[std::string(to_string(code))] += 1;
  link_.reset(stream, code, why);
}

void CallingPeer::on_open(Link& /*link*/, StreamId stream, std::string_view payload) {
  v1::OpenStream wanted;
  if (!welcomed_ || !wanted.ParseFromArray(payload.data(), static_cast<int>(payload.size())) ||
      wanted.agent().empty()) {
    return refuse_stream(stream, ResetCode::NotAllowed, "no agent is named");
  }
  if (shared_.refuse_relays) return refuse_stream(stream, ResetCode::Draining, "draining");
  if (shared_.relays >= shared_.options.streams_of_peers) {
    return refuse_stream(stream, ResetCode::Limit, "too many streams of peers");
  }
  if (given_up() >= shared_.options.given_up_per_peer) {
    return refuse_stream(stream, ResetCode::Limit, "too many streams were given up");
  }
  // Counted here: very many may come before the first of them begins.
  opening_ += 1;
  shared_.relays += 1;
  relays_.spawn(relay(stream, std::move(wanted),
                      make_relay(shared_.parts.buffers,
                                 [&shared = shared_](const EndReport&) { shared.relays -= 1; })));
}

// Of the streams that are being opened, those that the peer has given up, at least: the others are
// among those that it has, and so is the one that it asks for.
size_t CallingPeer::given_up() const {
  const size_t others = std::max<size_t>(link_.session().streams(), 1) - 1;
  return opening_ - std::min(opening_, others);
}

asio::awaitable<void> CallingPeer::relay(StreamId stream, v1::OpenStream wanted, RelayPair pair) {
  // Only a tunnel of our own: a stream makes one hop.
  const std::optional<TunnelId> id = shared_.table.select(wanted.agent());
  HeldTunnel* tunnel = id ? uses_.find(*id) : nullptr;
  if (tunnel == nullptr) {
    opening_ -= 1;
    refuse_stream(stream, ResetCode::NotExposed, "the agent has no tunnel here");
    co_return;
  }
  const Status opened =
      co_await tunnel->open(std::move(wanted), pair.first, shared_.options.open_timeout);
  opening_ -= 1;
  if (!opened.ok()) {
    refuse_stream(stream, reset_code_of(opened), std::string(opened.message()));
    co_return;
  }
  shared_.counts.relayed += 1;
  link_.accept(stream, std::move(pair.second));
}

}  // namespace holdfast::tunnel
