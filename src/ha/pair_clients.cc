// The witness and the clients of the simulated pair.
#include <fmt/format.h>

#include <algorithm>

#include "ha/pair_world.h"

namespace holdfast::ha::sim {

using namespace std::chrono_literals;

namespace {

// How often a client of a storm sends one request.
constexpr int kMostSends = 20;

}  // namespace

void World::ask_witness(Node& node, const AskWitness& ask) {
  const size_t index = index_of(node);
  const auto answer = [this, index, life = node.life, id = ask.id](bool accepted) {
    post(kWitness, index, [this, index, life, id, reply = WitnessAnswer{accepted, record_}] {
      in_process(index, life, [this, index, id, reply] {
        Node& mine = nodes_[index];
        carry(mine, mine.half->on_witness(id, reply, local(index)));
      });
    });
  };
  const auto failed = [this, index, life = node.life, id = ask.id] {
    post(kWitness, index, [this, index, life, id] {
      in_process(index, life, [this, index, id] {
        carry(nodes_[index], nodes_[index].half->on_witness_silent(id, local(index)));
      });
    });
  };
  if (ask.change) changes_in_flight_ += 1;
  const Time sent = now_;
  post(index, kWitness, [this, ask, answer, failed] {
    if (!witness_up_) return;
    if (!ask.change) return answer(false);
    // It answers when it is on its disk, or it crashes and nobody knows.
    after(50us + rng_.below(2 * weather_.disk_delay), [this, ask, answer, failed] {
      if (rng_.below(100) < witness_errors_.percent) {
        const bool may = may_replace(record_, *ask.change).ok() && !witness_errors_.is_full;
        if (may) unsynced_record_ = ask.change->record;
        if (witness_up_) failed();
        return;
      }
      const bool accepted = change_record(*ask.change);
      if (witness_up_) answer(accepted);
    });
  });
  // No message is on its way for longer than this.
  if (ask.change) at(sent + 8s, [this] { changes_in_flight_ -= 1; });
}

bool World::change_record(const RecordChange& change) {
  if (!may_replace(record_, change).ok()) return false;
  record_ = change.record;
  unsynced_record_.reset();
  checks_.on_record(record_, {&nodes_[0].disk, &nodes_[1].disk});
  say(fmt::format("the record: epoch {}, in sync {}", record_.epoch, record_.in_sync.bits()));
  return true;
}

void World::client_turn(size_t index) {
  Client& client = clients_[index];
  if (!clients_on_) return after(200ms, [this, index] { client_turn(index); });
  client.busy = true;
  client.sends = 0;
  client.request = {.client = index,
                    .id = ++client.last_id,
                    .is_write = client.writes,
                    .key = static_cast<uint32_t>(rng_.below(kKeys))};
  if (client.writes) client.request.value = ++last_value_ << 4;  // some bits to flip
  client.began = now_;
  client.at_least = checks_.must_show(client.request.key);
  client_asks(index);
  after(options_.client_timeout,
        [this, index, id = client.last_id] { client_gives_up(index, id); });
}

// The same request, also if it was sent before: it counts once.
void World::client_asks(size_t index) {
  Client& client = clients_[index];
  client.sends += 1;
  const size_t target = client.target;
  const auto deliver = [this, target, request = client.request] {
    in_process(target, 0,
               [this, target, request] { on_request(nodes_[target], request, std::nullopt); });
  };
  post(kFirstClient + index, target, deliver, true);
  if (!weather_.storm || client.sends >= kMostSends) return;
  after(10ms + rng_.below(Duration(150ms)), [this, index, id = client.last_id] {
    Client& mine = clients_[index];
    if (!mine.busy || mine.last_id != id) return;
    if (!mine.pinned) mine.target = rng_.below(2);
    client_asks(index);
  });
}

void World::pin_clients(size_t half) {
  say(fmt::format("readers ask {} only, writers the other", half));
  for (Client& client : clients_) {
    client.target = client.writes ? 1 - half : half;
    client.pinned = true;
  }
}

void World::let_clients_go() {
  for (Client& client : clients_) client.pinned = false;
}

void World::reply(Node& node, const Request& request, const Reply& reply) {
  const size_t index = request.client;
  post(
      index_of(node), kFirstClient + index,
      [this, index, id = request.id, reply] { client_answer(index, id, reply); }, true);
}

void World::client_answer(size_t index, uint64_t id, const Reply& reply) {
  Client& client = clients_[index];
  if (!client.busy || client.last_id != id) return;
  const bool done = reply.kind == Reply::Kind::Done;
  if (!done && weather_.storm && client.sends < kMostSends) return;  // it has asked elsewhere, too
  client.busy = false;
  const Request& request = client.request;
  if (done && client.writes) {
    checks_.on_write_heard(
        {.head = {.revision = reply.revision}, .key = request.key, .value = request.value},
        client.at_least);
    last_ack_ = now_;
    if (longest_counts_) longest_ = std::max(longest_, now_ - heard_before_);
    heard_before_ = now_;
  }
  if (done && !client.writes) {
    checks_.on_read(request.key, reply.revision, reply.value, client.at_least);
  }
  if (!done && !client.pinned) client.target = 1 - client.target;
  const bool again = reply.kind == Reply::Kind::Redirected;
  const Duration pause = again ? Duration(1ms) : Duration(20ms) + rng_.below(Duration(60ms));
  after(pause, [this, index] { client_turn(index); });
}

void World::client_gives_up(size_t index, uint64_t id) {
  Client& client = clients_[index];
  if (!client.busy || client.last_id != id) return;
  client.busy = false;
  if (!client.pinned) client.target = 1 - client.target;
  client_turn(index);
}

}  // namespace holdfast::ha::sim
