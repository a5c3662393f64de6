#include "tunnel/agent_tunnel_service.h"

#include <fmt/format.h>

#include <boost/asio/experimental/awaitable_operators.hpp>

#include <algorithm>
#include <utility>
#include <variant>

#include "base/bytes.h"
#include "base/reason.h"
#include "net/within.h"
#include "tunnel/agent_inputs.h"

namespace holdfast::tunnel {
namespace {

using How = TunnelEnd::How;

constexpr std::string_view kBadAnswer = "HF2123";
constexpr std::string_view kNoAnswer = "HF2124";
constexpr Duration kLongTime = std::chrono::hours(24);

Status bad_answer(std::string_view what) {
  return coded(absl::StatusCode::kUnavailable, kBadAnswer, what);
}

}  // namespace

AgentTunnel::AgentTunnel(Parts parts, Hooks hooks, Plan plan)
    : parts_(std::move(parts)), hooks_(std::move(hooks)), plan_(std::move(plan)) {}

AgentTunnel::~AgentTunnel() {
  if (link_) parts_.forward.forget(*link_);
}

asio::awaitable<TunnelEnd> AgentTunnel::run() {
  const Time start = parts_.clock.now();
  const Duration limit = plan_.dial.timeout;
  SecureOptions options{.context = plan_.context, .timeout = limit};
  options.judge = [this](const identity::Identity& peer) { return check_claim(peer.name); };
  Secured secured = co_await secure_connect(
      plan_.dial.address, {.trust = parts_.trust, .clock = parts_.clock}, std::move(options));
  if (closed_) co_return TunnelEnd{.how = How::Failed, .why = *closed_};
  // While the handshake went on, another may have claimed it.
  Status usable = secured.ok() ? check_claim((*secured)->peer.name) : secured.status();
  if (!usable.ok()) {
    const How how = absl::IsAlreadyExists(usable) ? How::AlreadyClaimed : How::Failed;
    co_return TunnelEnd{.how = how, .why = std::move(usable)};
  }
  proxy_ = (*secured)->peer.name;
  zone_ = (*secured)->peer.zone;
  const Duration left = limit - (parts_.clock.now() - start);
  Status ended = co_await serve(*std::move(secured), left);
  const size_t streams = link_->session().streams();
  parts_.forward.forget(*link_);
  co_return judge(std::move(ended), streams);
}

Status AgentTunnel::check_claim(const std::string& proxy) const {
  if (hooks_.may_claim(proxy)) return absl::OkStatus();
  return coded(absl::StatusCode::kAlreadyExists, kAlreadyClaimed,
               fmt::format("proxy {} has a tunnel of this agent", in_quotes(proxy)));
}

asio::awaitable<Status> AgentTunnel::serve(std::unique_ptr<SecureConnection> connection,
                                           Duration left) {
  using namespace asio::experimental::awaitable_operators;
  link_ = std::make_unique<Link>(
      Link::Parts{
          .loop = parts_.loop, .clock = parts_.clock, .buffers = parts_.buffers, .owner = *this},
      std::move(connection), plan_.link);
  v1::TunnelMessage message;
  *message.mutable_hello() = plan_.hello;
  CO_TRY_OK(link_->send(message.SerializeAsString()));
  // It may have come together with the end of the handshake: what begins now would not know.
  const bool unwanted = co_await net::is_cancelled();
  if (unwanted) co_return absl::CancelledError("no longer wanted");
  std::variant<Status, bool> first =
      co_await (net::ending_by_value(link_->run()) || net::ending_by_value(watch(left)));
  if (first.index() == 0) co_return std::get<0>(std::move(first));
  co_return closed_.value_or(absl::CancelledError("no longer wanted"));
}

// Ends only when it is cancelled: a link that is closed by it ends by itself.
asio::awaitable<bool> AgentTunnel::watch(Duration limit) {
  bool waiting = co_await net::pause(std::max(limit, Duration::zero()));
  if (waiting && !welcomed_) {
    link_->close(coded(absl::StatusCode::kDeadlineExceeded, kNoAnswer,
                       "the proxy did not answer the hello in time"));
  }
  while (waiting) waiting = co_await net::pause(kLongTime);
  co_return false;
}

TunnelEnd AgentTunnel::judge(Status ended, size_t streams) const {
  TunnelEnd end{.how = How::Lost, .why = std::move(ended), .streams = streams};
  if (end.why.ok() && !draining_) end.why = absl::UnavailableError("the proxy closed it");
  if (refusal_) {
    end.how = How::Refused;
    end.refusal = *refusal_;
  } else if (!welcomed_) {
    end.how = How::Failed;
  } else if (draining_ && streams == 0) {
    end.how = How::Drained;
  }
  return end;
}

void AgentTunnel::drain(std::string_view why) {
  draining_ = true;
  link_->say_goodbye(why);
}

TunnelLife AgentTunnel::life() const {
  return {
      .since = since_, .own_expires = plan_.expires, .peer_expires = link_->connection().expires};
}

void AgentTunnel::close(const Status& why) {
  if (!closed_) closed_ = why;
  if (link_) link_->close(why);
}

void AgentTunnel::send_exposed(const v1::Exposed& exposed) {
  if (!is_connected()) {
    // Not said yet, or said in the hello that is on its way: then it is said again below.
    *plan_.hello.mutable_exposed() = exposed;
    if (!link_) return;
  }
  v1::TunnelMessage message;
  *message.mutable_exposed() = exposed;
  const Status sent = link_->send(message.SerializeAsString());
  // A proxy that must go without it would choose by what is not so; one that leaves chooses no
  // more.
  if (!sent.ok() && !draining_) link_->close(sent);
}

void AgentTunnel::set_keepalive(Duration interval, uint32_t misses) {
  plan_.link.session.keepalive = interval;
  plan_.link.session.misses = misses;
  if (link_) link_->set_keepalive(interval, misses);
}

void AgentTunnel::on_open(Link& link, StreamId stream, std::string_view payload) {
  if (!welcomed_) return link.reset(stream, ResetCode::NotAllowed, "no welcome yet");
  parts_.forward.open(link, stream, payload);
}

Status AgentTunnel::on_message(Link& /*link*/, std::string_view payload) {
  v1::TunnelMessage message;
  if (!message.ParseFromArray(payload.data(), static_cast<int>(payload.size()))) {
    return bad_answer("the proxy sent a message that cannot be read");
  }
  if (message.has_refusal() && !welcomed_) {
    refusal_ = to_refusal(message.refusal());
    return absl::UnavailableError(fmt::format("{}: {}", refusal_->code, refusal_->reason));
  }
  if (message.has_welcome() != !welcomed_) {
    return bad_answer(welcomed_ ? "the proxy welcomed twice" : "the proxy did not welcome first");
  }
  if (message.has_welcome()) return take_welcome(message.welcome());
  if (message.has_discovery()) hooks_.discovery(message.discovery());
  if (message.has_advice()) hooks_.advice(message.advice());
  // Others are of newer versions, or not for agents: nothing follows from them.
  return absl::OkStatus();
}

Status AgentTunnel::take_welcome(const v1::TunnelWelcome& welcome) {
  if (welcome.name() != proxy_) {
    return bad_answer(fmt::format("the proxy calls itself {}, its certificate calls it {}",
                                  in_quotes(welcome.name()), in_quotes(proxy_)));
  }
  welcomed_ = true;
  since_ = parts_.clock.wall_now();
  // Where someone else was expected, or nobody, anyone may answer the next time.
  const bool expected = plan_.dial.proxy == proxy_;
  hooks_.connected({.name = proxy_,
                    .zone = zone_,
                    .group = welcome.group(),
                    .generation = welcome.generation(),
                    .ttl = Duration::zero(),
                    .address = expected ? plan_.dial.address : "",
                    .draining = welcome.draining()});
  return absl::OkStatus();
}

void AgentTunnel::on_goodbye(Link& /*link*/, std::string_view why) {
  draining_ = true;
  hooks_.goodbye(why);
}

}  // namespace holdfast::tunnel
