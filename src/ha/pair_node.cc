// One controller of the simulated pair: what a service does with a Half, a Shipping and a disk.
#include <fmt/format.h>

#include <algorithm>

#include "base/reason.h"
#include "ha/pair_world.h"

namespace holdfast::ha::sim {

using namespace std::chrono_literals;

namespace {

constexpr size_t kMostEntries = 64;
constexpr Duration kCallTimeout = 1s;
constexpr Duration kPatience = 5s;  // of a request for what it waits for to be acknowledged

Status not_taken() {
  return absl::UnavailableError("the disk fails");
}
Status refused() {
  return absl::FailedPreconditionError("its time is over");
}

}  // namespace

void World::carry(Node& node, const HalfActions& actions) {
  for (const HalfAction& action : actions) {
    if (const auto* ask = std::get_if<AskWitness>(&action)) ask_witness(node, *ask);
    if (const auto* begin = std::get_if<BeginTenure>(&action)) begin_tenure(node, begin->epoch);
    if (std::holds_alternative<SendBeat>(action)) beat_now(node);
    if (std::holds_alternative<Quiesce>(action)) node.quiesce = true;
  }
}

void World::submit(Node& node, Node::DiskWork work) {
  node.work.push_back(std::move(work));
  run_disk(node);
}

// The disk works also while the process sleeps.
void World::run_disk(Node& node) {
  if (node.disk_busy || node.work.empty()) return;
  node.disk_busy = true;
  const size_t index = index_of(node);
  after(50us + rng_.below(2 * weather_.disk_delay), [this, index, life = node.life] {
    if (nodes_[index].up && nodes_[index].life == life) disk_done(index);
  });
}

void World::disk_done(size_t index) {
  Node& node = nodes_[index];
  Node::DiskWork work = std::move(node.work.front());
  node.work.pop_front();
  node.disk_busy = false;
  const bool fails = work.writes && rng_.below(100) < node.disk_errors.percent;
  if (!fails) work.apply();
  if (work.writes) node.unsynced = {};
  if (fails && !node.disk_errors.is_full) node.unsynced = work.apply;
  checks_.on_promised(node.me, node.disk.promised);
  run_disk(node);
  in_process(index, node.life, std::move(work.then));
}

void World::begin_tenure(Node& node, Epoch epoch) {
  const auto done = std::make_shared<bool>(false);
  const auto apply = [&node, epoch, done] { *done = node.disk.begin_tenure(epoch); };
  const auto then = [this, &node, epoch, done] {
    const Time now = local(index_of(node));
    if (!*done) return carry(node, node.half->abandon(now));
    node.shipping.restart();
    carry(node, node.half->on_tenure(epoch, now));
    say(fmt::format("{} began epoch {}: {}, requires {}, revision {}", to_string(node.me), epoch,
                    to_string(node.half->protocol().state()),
                    node.half->protocol().required().bits(), node.disk.head.revision));
  };
  submit(node, {.apply = apply, .then = then});
}

void World::tick(Node& node) {
  const size_t index = index_of(node);
  if (local(index) >= node.half->next_deadline()) carry(node, node.half->on_tick(local(index)));
}

void World::schedule_tick(Node& node) {
  const size_t index = index_of(node);
  const Time when = world_time(index, node.half->next_deadline());
  if (node.tick_at > now_ && node.tick_at <= when) return;
  node.tick_at = when;
  at(when, [this, index, when, life = node.life] {
    in_process(index, life, [this, index, when] {
      Node& mine = nodes_[index];
      if (mine.tick_at == when) mine.tick_at = {};
      tick(mine);
    });
  });
}

void World::beat_now(Node& node) {
  const size_t index = index_of(node);
  const size_t other = 1 - index;
  Beat beat = node.half->next_beat(local(index), node.disk.facts());
  if (has(Bug::LeaseTooLong)) beat.take *= 3;
  const bool claiming = node.half->protocol().claiming();
  const bool echoes = has(claiming ? Bug::EchoWhileClaiming : Bug::EchoToTheReplaced);
  if (echoes && node.half->peer()) beat.heard = node.half->peer()->number;
  post(index, other, [this, other, beat] {
    in_process(other, 0, [this, other, beat] {
      Node& peer = nodes_[other];
      carry(peer, peer.half->on_beat(beat, local(other)));
      peer.shipping.on_beat(beat, peer.half->describe());
    });
  });
}

void World::beat_regularly(Node& node) {
  const size_t index = index_of(node);
  beat_now(node);
  if (node.half->peer_silence(local(index)) > options_.timing.beat * 3 / 2) knock(node);
  const Time next = world_time(index, local(index) + options_.timing.beat);
  at(next, [this, index, life = node.life] {
    in_process(index, life, [this, index] { beat_regularly(nodes_[index]); });
  });
}

// A connection to the peer's port: refused if its machine is there and its process is not.
void World::knock(Node& node) {
  const size_t index = index_of(node);
  const size_t other = 1 - index;
  const Time tried = local(index);
  post(index, other, [this, index, other, tried, life = node.life] {
    if (nodes_[other].up || !nodes_[other].machine_up) return;
    post(other, index, [this, index, tried, life] {
      in_process(index, life, [this, index, tried] {
        Node& mine = nodes_[index];
        carry(mine, mine.half->on_link_end(LinkEnd::Refused, tried, local(index)));
      });
    });
  });
}

void World::on_request(Node& node, const Request& request, std::optional<Time> until) {
  const Time now = local(index_of(node));
  const Reception reception = node.half->on_client(now);
  carry(node, reception.actions);
  switch (reception.kind) {
    case Reception::Kind::Serve:
      return serve(node, request);
    case Reception::Kind::Wait:
      if (!until) until = now + options_.timing.vote_patience;
      if (*until <= now) return reply(node, request, {.kind = Reply::Kind::Refused});
      return node.waiting.push_back({.request = request, .until = *until});
    case Reception::Kind::Redirect:
      break;
  }
  const bool named = split_reason(reception.why).code == "HF4101" && !reception.active.empty();
  if (!named) checks_.fail("a client was sent away without a name: " + reception.why.ToString());
  reply(node, request, {.kind = Reply::Kind::Redirected});
}

void World::retry_waiting(Node& node) {
  if (node.waiting.empty()) return;
  const std::vector<Node::Waiting> waiting = std::exchange(node.waiting, {});
  for (const Node::Waiting& one : waiting) on_request(node, one.request, one.until);
}

void World::serve(Node& node, const Request& request) {
  if (!request.is_write) return serve_read(node, request);
  const Time now = local(index_of(node));
  if (!node.half->may_write(now).ok()) return reply(node, request, {.kind = Reply::Kind::Refused});
  node.commits += 1;
  const auto written = std::make_shared<Head>();
  const auto apply = [this, &node, request, written] {
    const std::optional<Head> at =
        node.disk.commit(request.key, request.value, has(Bug::AppliedTwice));
    if (!at) return;
    *written = *at;
    checks_.on_commit(node.me, node.disk);
  };
  const auto then = [this, &node, request, written] {
    node.commits -= 1;
    if (*written == Head()) return reply(node, request, {.kind = Reply::Kind::Unknown});
    if (node.half->is_active()) node.half->on_written(node.disk.head);
    node.waiters.push_back({.request = request,
                            .until = written->revision,
                            .reply = {.kind = Reply::Kind::Done, .revision = written->revision},
                            .since = now_});
  };
  submit(node, {.apply = apply, .then = then});
}

// What was read is answered a moment later: whoever was asleep meanwhile must notice.
void World::serve_read(Node& node, const Request& request) {
  const size_t index = index_of(node);
  const Write* found = node.disk.latest(request.key);
  // No more than it needs, so that a read shows whether the lease alone is good enough.
  Node::Waiter waiter{
      .request = request, .until = found != nullptr ? found->head.revision : 0, .since = now_};
  if (has(Bug::ReadsUnacknowledged)) waiter.until = 0;
  waiter.reply.kind = Reply::Kind::Done;
  if (found != nullptr) waiter.reply.revision = found->head.revision;
  if (found != nullptr) waiter.reply.value = found->value;
  after(10us + rng_.below(weather_.disk_delay), [this, index, waiter, life = node.life] {
    in_process(index, life, [this, index, waiter] { nodes_[index].waiters.push_back(waiter); });
  });
}

void World::answer_waiters(Node& node) {
  if (node.waiters.empty()) return;
  const bool active = node.half->is_active();
  const Time now = local(index_of(node));
  std::vector<Node::Waiter> rest;
  for (Node::Waiter& waiter : node.waiters) {
    const bool too_long = now_ - waiter.since >= kPatience;
    if (!active || too_long) {
      reply(node, waiter.request, {.kind = Reply::Kind::Unknown});
    } else if (waiter.until > node.half->acknowledged() &&
               !(has(Bug::AckedAlone) && waiter.request.is_write)) {
      rest.push_back(waiter);
    } else if (waiter.request.is_write) {
      checks_.on_ack(node.me, *node.disk.at(waiter.until), record_,
                     {&nodes_[0].disk, &nodes_[1].disk});
      reply(node, waiter.request, waiter.reply);
    } else {
      const bool may_read = node.half->may_read(now).ok();
      reply(node, waiter.request, may_read ? waiter.reply : Reply{.kind = Reply::Kind::Refused});
    }
  }
  node.waiters = std::move(rest);
}

void World::maybe_quiet(Node& node) {
  if (!node.quiesce || node.commits > 0) return;
  node.quiesce = false;
  carry(node, node.half->on_quiet(local(index_of(node))));
}

void World::ship(Node& node) {
  // One call at a time, whatever became of the one before.
  if (!node.half->is_active() || node.open_call != 0) return;
  const size_t index = index_of(node);
  const size_t other = 1 - index;
  Replicate message{.epoch = node.half->protocol().epoch(), .life = node.life};
  message.shipment = node.shipping.next(node.disk.facts());
  const Shipment& shipment = message.shipment;
  if (shipment.kind == Shipment::Kind::Nothing) return;
  if (shipment.kind == Shipment::Kind::Entries) {
    for (store::Revision r = shipment.after.revision + 1; r <= node.disk.head.revision; ++r) {
      if (message.writes.size() < kMostEntries) message.writes.push_back(node.disk.entry(r));
    }
    const bool flips = rng_.below(100) < weather_.flip_percent && !message.writes.empty();
    if (flips) message.writes[rng_.below(message.writes.size())].value ^= 2;
  }
  if (shipment.kind == Shipment::Kind::Copy) {
    message.copy = std::make_shared<const Disk>(node.disk);
    message.after = node.answered;
    node.copies += 1;
    say(fmt::format("{} sends a copy of revision {}", to_string(node.me), node.disk.head.revision));
  }
  post(index, other, [this, other, message] {
    in_process(other, 0, [this, other, message] { on_replicate(nodes_[other], message); });
  });
  node.open_call = shipment.id;
  at(world_time(index, local(index) + kCallTimeout), [this, index, message, life = node.life] {
    in_process(index, life, [this, index, message] {
      on_shipment_answer(nodes_[index], message, absl::DeadlineExceededError("no answer"), "");
    });
  });
}

void World::on_replicate(Node& node, const Replicate& message) {
  HalfActions actions;
  const Status status = node.half->on_replicate(message.epoch, local(index_of(node)), actions);
  carry(node, actions);
  if (!status.ok()) return answer_replicate(node, message, status);
  if (message.copy) return take_copy(node, message);
  const auto result = std::make_shared<Disk::Appended>();
  const auto apply = [this, &node, message, result] {
    *result = node.disk.append(message.epoch, message.writes, !has(Bug::ChainUnchecked));
  };
  if (has(Bug::AckedBeforeDurable) && !message.writes.empty()) {
    const bool fits = message.writes.front().head.revision == node.disk.head.revision + 1;
    const Head head = fits ? message.writes.back().head : node.disk.head;
    answer_replicate(node, message, ShipmentAnswer{.head = head});
  }
  const auto then = [this, &node, message, result] {
    const bool failed = *result == Disk::Appended::Failed;
    if (failed && has(Bug::FailureIgnored) && !message.writes.empty()) {
      return answer_replicate(node, message, ShipmentAnswer{.head = message.writes.back().head});
    }
    if (failed) return answer_replicate(node, message, not_taken());
    if (*result == Disk::Appended::Refused) return answer_replicate(node, message, refused());
    const bool asked = has(Bug::NeedlessCopies) && message.shipment.kind == Shipment::Kind::Ask;
    if (*result == Disk::Appended::Broken) {
      node.half->on_unfit();
      say(fmt::format("{} is sent a damaged entry after revision {}", to_string(node.me),
                      node.disk.head.revision));
      node.broken_at = node.disk.head;
    } else if (*result == Disk::Appended::Yes) {
      const Time now = local(index_of(node));
      carry(node, message.writes.empty()
                      ? node.half->on_promised(message.epoch, now)
                      : node.half->on_appended(message.epoch, node.disk.head, now));
    }
    const bool broken = node.half->is_unfit() || node.disk.tenures.empty() || asked;
    answer_replicate(node, message, ShipmentAnswer{.head = node.disk.head, .needs_copy = broken});
  };
  submit(node, {.apply = apply,
                .then = then,
                .writes = !message.writes.empty() || message.epoch > node.disk.promised});
}

// What the copy replaces is put aside first, if it is not part of it.
void World::take_copy(Node& node, const Replicate& message) {
  const auto result = std::make_shared<Disk::Appended>();
  const auto apply = [this, &node, message, result, unfit = node.half->is_unfit()] {
    *result = Disk::Appended::Refused;
    const Disk& copy = *message.copy;
    const bool late = is_too_late(copy.head, message.epoch, node.disk.head);
    if (late && !has(Bug::CopyTakenLate)) return;
    const Disk before = node.disk;
    if (!node.disk.replace(message.epoch, copy)) return;
    *result = Disk::Appended::Yes;
    // One that is late, or that was asked for because of a damaged entry, is not to be blamed.
    const bool asked = before.head == node.broken_at || before.head != message.after;
    if (!asked) checks_.on_copy(node.me, before, copy);
    Comparison stands = compare(before.history(), copy.history());
    if (unfit) stands = {Relation::Diverged, 0};
    if (stands.relation == Relation::Same || stands.relation == Relation::Behind) return;
    std::vector<store::Entry> entries;
    for (const Write& write : before.log) {
      store::Change change;
      change.item.key = fmt::format("/service/{}", write.key);
      change.item.value = std::to_string(write.value);
      if (write.head.revision > stands.fork) entries.push_back({write.head, {change}});
    }
    if (entries.empty() || has(Bug::QuarantineForgotten)) return;
    node.quarantines.push_back(make_quarantine(
        {.fork = stands.fork, .head = before.head, .winner = message.epoch}, entries));
  };
  const auto then = [this, &node, message, result] {
    if (*result == Disk::Appended::Failed) return answer_replicate(node, message, not_taken());
    if (*result == Disk::Appended::Refused) return answer_replicate(node, message, refused());
    carry(node, node.half->on_appended(message.epoch, node.disk.head, local(index_of(node))));
    answer_replicate(node, message, ShipmentAnswer{.head = node.disk.head});
  };
  submit(node, {.apply = apply, .then = then});
}

void World::answer_replicate(Node& node, const Replicate& message, Result<ShipmentAnswer> answer) {
  const size_t index = index_of(node);
  const size_t other = 1 - index;
  const std::string store_id = node.disk.store_id;
  post(index, other, [this, other, message, answer, store_id] {
    in_process(other, message.life, [this, other, message, answer, store_id] {
      on_shipment_answer(nodes_[other], message, answer, store_id);
    });
  });
}

void World::on_shipment_answer(Node& node, const Replicate& sent,
                               const Result<ShipmentAnswer>& answer, const std::string& store_id) {
  const uint64_t id = sent.shipment.id;
  const bool is_open =
      std::exchange(node.open_call, node.open_call == id ? 0 : node.open_call) == id;
  const bool same = node.half->is_active() && node.half->protocol().epoch() == sent.epoch;
  const Time now = local(index_of(node));
  if (!answer.ok() || !node.half->is_active()) {
    node.shipping.on_failure(id);
    const bool disk = !answer.ok() && !absl::IsFailedPrecondition(answer.status());
    if (disk && same && is_open) node.half->on_not_taken(answer.status(), now);
    return;
  }
  node.answered = answer->head;
  if (!node.shipping.on_answer(id, *answer, node.disk.facts()) || !same) return;
  carry(node, node.half->on_acked(answer->head, store_id, now));
}

}  // namespace holdfast::ha::sim
