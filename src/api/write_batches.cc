#include "api/write_batches.h"

#include <algorithm>

namespace holdfast::api {

std::optional<WriteBatches::Ticket> WriteBatches::add(store::Operation operation, Time now) {
  if (callers_.size() >= options_.max_waiting) return std::nullopt;
  const Ticket ticket = ++last_ticket_;
  callers_.emplace(ticket, operation.key);
  const auto found = by_key_.find(operation.key);
  if (found != by_key_.end()) {
    found->second->operation = std::move(operation);
    found->second->tickets.push_back(ticket);
    return ticket;
  }
  queue_.push_back({std::move(operation), {ticket}, now});
  by_key_.emplace(queue_.back().operation.key, std::prev(queue_.end()));
  return ticket;
}

void WriteBatches::drop(Ticket ticket) {
  const auto caller = callers_.find(ticket);
  if (caller == callers_.end()) return;
  const auto waiting = by_key_.find(caller->second);
  callers_.erase(caller);
  if (waiting == by_key_.end()) return;
  const Queue::iterator write = waiting->second;
  // Its own write may be in flight while another to the same key waits.
  if (std::erase(write->tickets, ticket) == 0 || !write->tickets.empty()) return;
  by_key_.erase(waiting);
  queue_.erase(write);
}

bool WriteBatches::is_full() const {
  if (queue_.size() < options_.max_operations) return false;
  size_t ready = 0;
  for (const Write& write : queue_) {
    ready += may_go(write) ? 1 : 0;
    if (ready == options_.max_operations) return true;
  }
  return false;
}

std::optional<WriteBatches::Batch> WriteBatches::take(Time now) {
  const std::optional<Time> deadline = next_deadline();
  if (!deadline || (*deadline > now && !is_full())) return std::nullopt;
  Batch batch;
  size_t bytes = 0;
  for (auto write = queue_.begin(); write != queue_.end();) {
    if (batch.operations.size() == options_.max_operations) break;
    if (!may_go(*write)) {
      ++write;
      continue;
    }
    bytes += write->operation.key.size() + write->operation.value.size();
    if (!batch.operations.empty() && bytes > options_.max_bytes) break;
    by_key_.erase(write->operation.key);
    keys_in_flight_.insert(write->operation.key);
    batch.keys.push_back(write->operation.key);
    batch.tickets.insert(batch.tickets.end(), write->tickets.begin(), write->tickets.end());
    batch.operations.push_back(std::move(write->operation));
    write = queue_.erase(write);
  }
  in_flight_ += 1;
  return batch;
}

std::optional<Time> WriteBatches::next_deadline() const {
  if (in_flight_ >= options_.max_in_flight) return std::nullopt;
  const auto first = std::ranges::find_if(queue_, [this](const Write& w) { return may_go(w); });
  if (first == queue_.end()) return std::nullopt;
  return first->since + options_.max_delay;
}

void WriteBatches::done(const Batch& batch) {
  in_flight_ -= 1;
  for (const std::string& key : batch.keys) keys_in_flight_.erase(key);
  for (const Ticket ticket : batch.tickets) callers_.erase(ticket);
}

}  // namespace holdfast::api
