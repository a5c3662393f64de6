#include "ha/pair_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace holdfast::ha::sim {

using namespace std::chrono_literals;

namespace {

bool clocks_run_alike(const WorldOptions& options) {
  const double ratio = options.rate[0] / options.rate[1];
  const double bound = 0.95 * static_cast<double>(options.timing.take.count()) /
                       static_cast<double>(options.timing.lease.count());
  return ratio < bound && 1 / ratio < bound;
}

}  // namespace

World::World(const WorldOptions& options)
    : options_(options), rng_(options.seed), checks_(options.mode, clocks_run_alike(options)) {
  for (size_t i = 0; i < 2; ++i) {
    nodes_[i].me = static_cast<Member>(i);
    nodes_[i].disk.store_id = fmt::format("store-{}-0", i);
    at(now_ + rng_.below(Duration(1s)), [this, i] { start(i); });
  }
  for (size_t i = 0; i < kClients; ++i) {
    clients_[i].writes = i < 3;
    clients_[i].target = rng_.below(2);
    at(now_ + rng_.below(Duration(100ms)), [this, i] { client_turn(i); });
  }
  for (size_t i = 0; i < kAgents; ++i) {
    agents_[i].target = rng_.below(2);
    agents_[i].guard.emplace(0);
    at(now_ + rng_.below(Duration(300ms)), [this, i] { agent_turn(i); });
  }
}

void World::say(const std::string& what) const {
  if (!options_.verbose) return;
  const double seconds = std::chrono::duration<double>(now_ - Time(std::chrono::hours(1))).count();
  std::printf("%9.4f %s\n", seconds, what.c_str());
}

void World::at(Time when, std::function<void()> what) {
  queue_.push({.when = std::max(when, now_), .order = ++order_, .what = std::move(what)});
}

void World::later(Duration length, std::function<void()> what) {
  after(length, [this, what = std::move(what)] {
    if (!healed_) what();
  });
}

void World::run_until(Time end) {
  while (!queue_.empty() && queue_.top().when <= end) {
    Queued next = queue_.top();
    queue_.pop();
    now_ = next.when;
    trace_ = (trace_ ^ static_cast<uint64_t>(now_.time_since_epoch().count()) ^ next.order) *
             0x100000001b3;
    next.what();
    if (checks_.failures().size() >= 5) break;
  }
  now_ = end;
}

Time World::local(size_t node) const {
  const Duration missed = has(Bug::ClockStops) ? nodes_[node].asleep : Duration::zero();
  const auto passed = static_cast<double>((now_ - missed).time_since_epoch().count());
  return Time(Duration(static_cast<int64_t>(passed * options_.rate[node])));
}

Time World::world_time(size_t node, Time local_time) const {
  const auto nanos = static_cast<int64_t>(
      static_cast<double>(local_time.time_since_epoch().count()) / options_.rate[node]);
  const Duration missed = has(Bug::ClockStops) ? nodes_[node].asleep : Duration::zero();
  return Time(Duration(nanos + 1000)) + missed;  // rounded up: a tick must not come early for ever
}

void World::post(size_t from, size_t to, std::function<void()> deliver, bool once) {
  if (cut_[from][to] || rng_.below(100) < weather_.loss_percent) return;
  const int copies = !once && rng_.below(100) < weather_.duplicate_percent ? 2 : 1;
  for (int i = 0; i < copies; ++i) {
    // What was stopped together does not arrive in the order in which it was sent.
    const Time begins = std::max(now_, clogged_[from][to]);
    at(begins + 50us + rng_.below(2 * weather_.delay), deliver);
  }
}

// A process that is asleep finds it when it wakes; one that is gone never does.
void World::in_process(size_t index, uint64_t life, std::function<void()> what) {
  Node& node = nodes_[index];
  if (!node.up || (life != 0 && node.life != life)) return;
  if (node.paused) {
    if (node.inbox.size() < 5000) node.inbox.push_back(std::move(what));
    return;
  }
  what();
  if (node.up) settle(node);
}

// After whatever happened at a node.
void World::settle(Node& node) {
  answer_waiters(node);
  retry_waiting(node);
  maybe_quiet(node);
  ship(node);
  schedule_tick(node);
  if (node.half->is_active()) checks_.on_active(*node.half, node.disk, record_);
}

void World::start(size_t index) {
  Node& node = nodes_[index];
  if (node.up) return;
  node.up = true;
  node.machine_up = true;
  node.paused = false;
  node.life = ++last_life_;
  node.shipping = Shipping();
  node.tick_at = {};
  say(fmt::format("{} starts, epoch {}, revision {}", to_string(node.me), node.disk.promised,
                  node.disk.head.revision));
  HalfOptions options{.pair = {.me = node.me, .mode = options_.mode},
                      .timing = timing_of(index),
                      .process = fmt::format("process-{}", node.life),
                      .name = std::string(to_string(node.me)),
                      .address = fmt::format("{}", index),
                      .version = "1",
                      .schema_min = node.schema_min,
                      .schema_max = node.schema_max};
  if (has(Bug::LeaseTooLong)) options.timing.lease *= 3;
  node.half.emplace(
      std::move(options),
      Protocol::Durable{
          .promised = node.disk.promised, .head = node.disk.head, .store_id = node.disk.store_id},
      local(index));
  in_process(index, node.life, [this, &node, index] {
    carry(node, node.half->start(local(index)));
    beat_regularly(node);
  });
}

void World::crash(size_t index, bool machine) {
  Node& node = nodes_[index];
  if (!node.up) return;
  say(fmt::format("{} crashes{}", to_string(node.me), machine ? " with its machine" : ""));
  node.up = false;
  node.paused = false;
  node.machine_up = !machine;
  node.half.reset();
  node.inbox.clear();
  node.waiters.clear();
  node.waiting.clear();
  node.commits = 0;
  node.quiesce = false;
  node.open_call = 0;
  const std::function<void()> unsynced = std::exchange(node.unsynced, {});
  if (unsynced && rng_.below(2) == 0) {
    node.work.clear();
    unsynced();
  }
  // Some of what was on its way to the disk got there, in order; nobody was told.
  const size_t done = rng_.below(node.work.size() + 1);
  for (size_t i = 0; i < done; ++i) node.work[i].apply();
  node.work.clear();
  node.disk_busy = false;
  checks_.on_promised(node.me, node.disk.promised);
  if (machine) return;
  for (size_t i = 0; i < kClients; ++i) {
    if (!clients_[i].busy || clients_[i].target != index) continue;
    // Its connection is reset.
    post(
        index, kFirstClient + i, [this, i, id = clients_[i].last_id] { client_gives_up(i, id); },
        true);
  }
  const size_t other = 1 - index;
  post(index, other,
       [this, other] { in_process(other, 0, [this, other] { knock(nodes_[other]); }); });
}

void World::pause(size_t index) {
  Node& node = nodes_[index];
  if (!node.up || node.paused) return;
  node.paused = true;
  node.paused_since = now_;
  say(fmt::format("{} is stopped", to_string(nodes_[index].me)));
}

void World::resume(size_t index) {
  Node& node = nodes_[index];
  if (!node.up || !node.paused) return;
  say(fmt::format("{} goes on", to_string(node.me)));
  node.paused = false;
  node.asleep += now_ - node.paused_since;
  std::vector<std::function<void()>> inbox = std::exchange(node.inbox, {});
  const uint64_t life = node.life;
  for (const std::function<void()>& what : inbox) in_process(index, life, what);
  in_process(index, life, [] {});
}

bool World::wipe(size_t index) {
  Node& node = nodes_[index];
  const Node& other = nodes_[1 - index];
  const Member member = other.me;
  const bool recorded =
      options_.mode != Mode::Witness ||
      (record_.in_sync.has(member) && record_.store_id(member) == other.disk.store_id);
  // In best-effort an empty disk may begin alone, with epochs that were used before. Then a fork
  // cannot be found: not simulated, and said in docs.
  if (options_.mode == Mode::BestEffort) return false;
  // Who sleeps may still tell of what was on this disk.
  if (other.paused || !other.up || !other.waiters.empty()) return false;
  if (node.up || !recorded || changes_in_flight_ > 0) return false;
  if (!checks_.has_everything(other.disk) || other.disk.tenures.empty()) return false;
  say(fmt::format("{} gets an empty disk", to_string(node.me)));
  const store::Revision common = std::min(node.disk.head.revision, other.disk.head.revision);
  node.disk = Disk{.store_id = fmt::format("store-{}-{}", index, ++last_life_)};
  node.quarantines.clear();
  checks_.forget_disk(node.me, common);
  return true;
}

void World::set_disk(size_t index, const DiskErrors& errors) {
  say(fmt::format("{}'s disk fails in {}%{}", to_string(nodes_[index].me), errors.percent,
                  errors.is_full ? ", full" : ""));
  nodes_[index].disk_errors = errors;
}

void World::rot(size_t index) {
  Disk& disk = nodes_[index].disk;
  const auto latest = rng_.below(20);
  const store::Revision revision = disk.head.revision - static_cast<store::Revision>(latest);
  if (disk.at(revision) == nullptr) return;
  say(fmt::format("{}'s row of revision {} is damaged", to_string(nodes_[index].me), revision));
  disk.rotten.insert(revision);
}

void World::set_witness(bool up) {
  const std::optional<Record> unsynced =
      up && !witness_up_ ? std::exchange(unsynced_record_, std::nullopt) : std::nullopt;
  if (unsynced && rng_.below(2) == 0) {
    record_ = *unsynced;
    checks_.on_record(record_, {&nodes_[0].disk, &nodes_[1].disk});
    say(fmt::format("the record is {} after all", record_.epoch));
  }
  if (up && !witness_up_ && has(Bug::WitnessForgets)) record_ = {};
  witness_up_ = up;
}

void World::switch_over(size_t index) {
  in_process(index, 0, [this, index] {
    Node& node = nodes_[index];
    Result<HalfActions> actions = node.half->switch_over(local(index));
    if (!actions.ok()) return;
    say(fmt::format("{} is told to hand over", to_string(node.me)));
    carry(node, *actions);
  });
}

void World::compact(size_t index) {
  Disk& disk = nodes_[index].disk;
  if (nodes_[index].up) disk.floor = std::max(disk.floor, disk.head.revision - 5);
}

void World::heal() {
  say("all heals");
  healed_ = true;
  weather_ = {};
  cut_ = {};
  clogged_ = {};
  set_witness(true);
  set_witness_disk({});
  let_clients_go();
  for (size_t i = 0; i < 2; ++i) {
    set_disk(i, {});
    resume(i);
    // Somebody installs the version that it should have.
    if (nodes_[i].schema_min > 1) crash(i, false);
    nodes_[i].schema_min = 1;
    nodes_[i].schema_max = 2;
    start(i);
  }
}

std::optional<size_t> World::active() const {
  std::optional<size_t> found;
  Epoch highest = 0;
  for (size_t i = 0; i < 2; ++i) {
    if (!nodes_[i].up || !nodes_[i].half->is_active()) continue;
    if (nodes_[i].half->protocol().epoch() <= highest) continue;
    highest = nodes_[i].half->protocol().epoch();
    found = i;
  }
  return found;
}

std::string World::describe() const {
  std::string text;
  for (const Node& node : nodes_) {
    if (!node.up) text += fmt::format("{} is down; ", to_string(node.me));
    if (!node.up) continue;
    const Protocol& protocol = node.half->protocol();
    text += fmt::format("{} {} epoch {} promised {} head {}.{} requires {} in sync {} sync {}; ",
                        to_string(node.me), to_string(protocol.state()), protocol.epoch(),
                        protocol.promised(), node.disk.head.epoch, node.disk.head.revision,
                        protocol.required().bits(), protocol.peer_in_sync(),
                        node.shipping.obstacle().ToString());
  }
  for (size_t i = 0; i < kAgents; ++i) text += fmt::format("agent {}: {}; ", i, agents_[i].kept);
  return text + fmt::format("record {} of {}", record_.epoch, record_.in_sync.bits());
}

bool World::has_converged() const {
  for (size_t i = 0; i < 2; ++i) {
    const Node& one = nodes_[i];
    const Node& other = nodes_[1 - i];
    if (!one.up || !other.up || !one.half->is_active()) continue;
    return other.half->protocol().state() == State::Passive && one.half->protocol().peer_in_sync();
  }
  return false;
}

}  // namespace holdfast::ha::sim
