#include "ha/pair_service.h"

#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <utility>
#include <variant>

#include "base/log.h"
#include "base/reason.h"
#include "ha/alone_loader.h"
#include "ha/quarantine_service.h"
#include "ha/wire.h"
#include "net/as_value.h"
#include "net/within.h"

namespace holdfast::ha {
namespace {

using net::kAsValue;
// However near the next deadline is: a core that wants to be woken at once does not get all of us.
constexpr Duration kShortestRest = std::chrono::milliseconds(1);

Protocol::Durable durable_of(const store::ReplicaFacts& facts) {
  return {.promised = facts.promised, .head = facts.head, .store_id = facts.store_id};
}

template <typename... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};

}  // namespace

PairService::PairService(const asio::any_io_executor& loop, const Clock& clock,
                         store::Replica& replica, PairOptions options, PairHooks hooks)
    : loop_(loop),
      clock_(clock),
      replica_(replica),
      options_(std::move(options)),
      hooks_(std::move(hooks)),
      half_(options_.half, durable_of(replica.facts()), clock.now()),
      link_(loop, clock, options_.peer, link_handlers()),
      shipping_(loop, replica, options_.shipping, shipping_handlers()),
      intake_(loop, replica, intake_handlers()),
      alone_through_(options_.alone_file.empty() ? kAloneUnknown : load_alone(options_.alone_file)),
      ready_(options_.half.timing.take - options_.half.timing.lease),
      seen_state_(half_.protocol().state()),
      alarm_(loop),
      started_(clock.wall_now()),
      tasks_(loop) {
  if (options_.witness) witness_.emplace(clock, *options_.witness);
}

PairService::~PairService() = default;

PeerLinkHandlers PairService::link_handlers() {
  return {.own_beat = [this] { return beat(); },
          .on_beat = [this](const v1::Beat& beat) { on_beat(beat); },
          .on_end =
              [this](LinkEnd end, Time tried) {
                act(half_.on_link_end(end, tried, clock_.now()));
                shipping_.restart();
              },
          .on_up =
              [this] {
                log::info("linked to the other half", {{"address", options_.peer.address}});
                shipping_.restart();
              }};
}

ShippingHandlers PairService::shipping_handlers() {
  return {.epoch = [this] { return half_.is_active() ? half_.protocol().epoch() : Epoch{0}; },
          .channel = [this] { return link_.channel(); },
          .on_acked =
              [this](const Head& head, const std::string& store_id) {
                act(half_.on_acked(head, store_id, clock_.now()));
              },
          .on_not_taken = [this](const Status& why) { half_.on_not_taken(why, clock_.now()); }};
}

IntakeHandlers PairService::intake_handlers() {
  return {.may_take =
              [this](Epoch epoch) {
                HalfActions actions;
                const Status may = half_.on_replicate(epoch, clock_.now(), actions);
                act(std::move(actions));
                return may;
              },
          .on_appended =
              [this](Epoch epoch, const Head& head) {
                HalfActions actions;
                // Whoever promoted it meanwhile was too late: the store is the other half's.
                if (half_.is_active()) {
                  static_cast<void>(half_.on_replicate(epoch, clock_.now(), actions));
                }
                act(std::move(actions));
                act(half_.on_appended(epoch, head, clock_.now()));
              },
          .on_promised = [this](Epoch epoch) { act(half_.on_promised(epoch, clock_.now())); },
          .before_copy = [this](const store::ReplicaFacts& of) -> asio::awaitable<Status> {
            if (options_.quarantine_folder.empty()) co_return absl::OkStatus();
            co_return co_await keep_lost(replica_, of,
                                         {.folder = options_.quarantine_folder,
                                          .node = options_.half.name,
                                          .acknowledged_through = acknowledged_epoch(),
                                          .unfit = half_.is_unfit()},
                                         clock_.wall_now(), files_);
          },
          .on_unfit = [this] { half_.on_unfit(); },
          .is_unfit = [this] { return half_.is_unfit(); }};
}

void PairService::start() {
  act(half_.start(clock_.now()));
  tasks_.spawn(link_.run());
  tasks_.spawn(link_.watch_silence());
  tasks_.spawn(shipping_.run());
  tasks_.spawn(tick());
  tasks_.spawn(beats());
}

asio::awaitable<void> PairService::stop() {
  stopped_ = true;
  fail_waiters();
  for (asio::steady_timer* waiter : change_waiters_) waiter->cancel();
  co_await tasks_.join();
}

void PairService::set_tls(const rpc::TlsOptions& peer, const rpc::TlsOptions& witness) {
  link_.set_tls(peer);
  if (witness_) witness_->set_tls(witness);
}

void PairService::act(HalfActions actions) {
  for (HalfAction& action : actions) {
    std::visit(Overloaded{[this](AskWitness& ask) { tasks_.spawn(ask_witness(std::move(ask))); },
                          [this](BeginTenure& begin) {
                            begun_last_ = begin.epoch;
                            tasks_.spawn(begin_tenure(begin.epoch));
                          },
                          [this](SendBeat&) { send_beat(); },
                          [this](Quiesce&) { tasks_.spawn(quiesce()); }},
               action);
  }
  notice();
}

// Everything that is told to the half ends here.
void PairService::notice() {
  note_written();
  const State state = half_.protocol().state();
  const Epoch epoch = half_.protocol().epoch();
  const State before = std::exchange(seen_state_, state);
  const Epoch epoch_before = std::exchange(seen_epoch_, epoch);
  const bool turned = note_ready();
  if (state != before || epoch != epoch_before) {
    on_role(before);
  } else if (turned && hooks_.changed) {
    hooks_.changed();
  }
  wake_acknowledged();
  shipping_.wake();
  for (asio::steady_timer* waiter : change_waiters_) waiter->cancel();
  alarm_.cancel();
}

// True: it is not what it was. There is a tick with every beat, so a lease that ends is noticed
// although nobody asks.
bool PairService::note_ready() {
  const bool before = ready_.holds();
  const Time now = clock_.now();
  if (!half_.is_active()) ready_.end();
  ready_.note(half_.may_read(now).ok(), now);
  return ready_.holds() != before;
}

void PairService::on_role(State before) {
  const State state = half_.protocol().state();
  log::info("this half of the pair changed", {{"half", to_string(options_.half.pair.me)},
                                              {"from", to_string(before)},
                                              {"to", to_string(state)},
                                              {"epoch", epoch()}});
  if (before == State::Active && state != State::Active) {
    stats_.step_downs += 1;
    fail_waiters();
  }
  if (before != State::Active && state == State::Active) {
    stats_.switches += 1;
    const std::optional<Switch>& last = half_.last_switch();
    if (last) {
      log::info("active", {{"reason", last->reason}, {"took", to_short_string(last->took)}});
    }
  }
  shipping_.restart();
  send_beat();
  if (hooks_.changed) hooks_.changed();
}

void PairService::send_beat() {
  if (hooks_.send_beat && !stopped_) hooks_.send_beat(beat());
}

v1::Beat PairService::beat() {
  Beat beat = half_.next_beat(clock_.now(), replica_.facts());
  const Status disk = disk_obstacle();
  beat.disk_fails = !disk.ok() && split_reason(disk).code != "HF4119";
  return to_proto(beat);
}

void PairService::on_beat(const v1::Beat& beat) {
  const Result<Beat> heard = from_proto(beat);
  if (!heard.ok()) {
    stats_.bad_beats += 1;
    return;
  }
  act(half_.on_beat(*heard, clock_.now()));
  shipping_.on_beat(*heard, half_.describe());
}

asio::awaitable<Result<v1::ReplicateResponse>> PairService::replicate(
    v1::ReplicateRequest request) {
  return intake_.take(std::move(request));
}

asio::awaitable<void> PairService::tick() {
  for (;;) {
    const Duration left = half_.next_deadline() - clock_.now();
    alarm_.expires_after(std::clamp<Duration>(left, kShortestRest, std::chrono::seconds(1)));
    const Time due = half_.next_deadline();
    co_await alarm_.async_wait(kAsValue);
    const bool cancelled = co_await net::is_cancelled();
    if (cancelled) co_return;
    if (clock_.now() >= std::min(due, half_.next_deadline())) {
      act(half_.on_tick(clock_.now()));
      const bool slept = co_await net::pause(kShortestRest);
      if (!slept) co_return;
    }
  }
}

asio::awaitable<void> PairService::beats() {
  for (;;) {
    const bool slept = co_await net::pause(options_.half.timing.beat);
    if (!slept) co_return;
    send_beat();
  }
}

asio::awaitable<void> PairService::ask_witness(AskWitness ask) {
  if (!witness_) co_return act(half_.on_witness_silent(ask.id, clock_.now()));
  const Result<WitnessAnswer> answer = co_await witness_->ask(std::move(ask.change));
  const bool cancelled = co_await net::is_cancelled();
  if (cancelled) co_return;
  half_.note_witness(answer, clock_.now());
  act(answer.ok() ? half_.on_witness(ask.id, *answer, clock_.now())
                  : half_.on_witness_silent(ask.id, clock_.now()));
}

// Clients are told of what is written alone, and this is known after a restart too. Where it was
// not known, it is from this tenure on.
Status PairService::note_alone(Epoch epoch) {
  if (options_.alone_file.empty()) return absl::OkStatus();
  const bool alone = half_.protocol().begins_alone();
  const bool news = alone_through_ == kAloneUnknown || (alone && epoch > alone_through_);
  if (!news) return absl::OkStatus();
  const Epoch through = alone ? epoch : epoch - 1;
  TRY_OK(save_alone(options_.alone_file, through));
  alone_through_ = through;
  return absl::OkStatus();
}

Epoch PairService::acknowledged_epoch() const {
  const bool always = options_.half.pair.mode == Mode::BestEffort;
  return always ? kAloneUnknown : alone_through_;
}

asio::awaitable<void> PairService::begin_tenure(Epoch epoch) {
  Status begun = note_alone(epoch);
  if (begun.ok()) begun = co_await replica_.begin_tenure(epoch);
  const bool cancelled = co_await net::is_cancelled();
  if (cancelled) co_return;
  if (begun.ok()) begun = may_serve(epoch);
  if (begun.ok()) {
    if (is_own(epoch)) half_.on_written(replica_.facts().head);
    co_return act(half_.on_tenure(epoch, clock_.now()));
  }
  const bool overtaken = absl::IsFailedPrecondition(begun);
  const auto level = overtaken ? log::info : log::error;
  level("cannot become active: the store does not take the epoch",
        {{"epoch", epoch}, {"why", begun.ToString()}});
  // What was begun after it is decided by itself.
  if (epoch == begun_last_) act(half_.abandon(clock_.now()));
}

// What the store has is the half's own only as long as nobody else was promised anything: the
// other half's history, which may be shorter, is told by who took it in.
bool PairService::is_own(Epoch epoch) const {
  return replica_.facts().promised == epoch;
}

// The disk does several things at once, and says so afterwards: a tenure may be over when this half
// hears that it has begun.
Status PairService::may_serve(Epoch epoch) const {
  const Epoch promised = replica_.facts().promised;
  if (promised <= epoch || active_in(promised) == options_.half.pair.me) return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("epoch {} of the other half was promised since", promised));
}

// Nothing is begun while it hands over; a promise that says nothing new is written after all that
// was begun before.
asio::awaitable<void> PairService::quiesce() {
  const Status last = co_await replica_.promise(replica_.facts().promised);
  const bool cancelled = co_await net::is_cancelled();
  // A disk that failed has answered all that was begun before, too.
  const bool over = last.ok() || !replica_.disk().ok();
  if (cancelled || !half_.is_active() || !over) co_return;
  note_written();
  act(half_.on_quiet(clock_.now()));
}

}  // namespace holdfast::ha
