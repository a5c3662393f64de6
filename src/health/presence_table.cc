#include "health/presence_table.h"

#include <algorithm>

namespace holdfast::health {

void PresenceTable::reset(NodeKind kind, const std::vector<Presence>& all, Time now) {
  Entries& entries = entries_[static_cast<size_t>(kind)];
  for (auto& [name, entry] : entries) unschedule(entry);
  entries.clear();
  counts_[static_cast<size_t>(kind)] = {};
  for (const Presence& presence : all) observed(presence, now);
}

void PresenceTable::heard(const NodeId& id, const Sighting& sighting, Duration ttl, Time now) {
  Entry& entry = find_or_add(id);
  entry.heartbeat = sighting.heartbeat;
  entry.ttl = ttl;
  entry.instances.heard(sighting, ttl, now);
  set_online(entry, now + ttl);
}

void PresenceTable::observed(const Presence& presence, Time now) {
  Entry& entry = find_or_add(presence.id);
  // What was heard here comes back from the store later: the deadline stays that of the hearing.
  const bool is_known = entry.heartbeat == presence.last_heartbeat && entry.ttl == presence.ttl &&
                        entry.heap_index != kNoIndex;
  entry.heartbeat = presence.last_heartbeat;
  entry.ttl = presence.ttl;
  if (presence.offline) return set_offline(entry);
  entry.instances.observed({presence.instance, presence.last_heartbeat}, presence.ttl, now);
  if (!is_known) set_online(entry, now + presence.ttl);
}

void PresenceTable::observed_gone(const NodeId& id) {
  Entries& entries = entries_[static_cast<size_t>(id.kind)];
  const auto found = entries.find(id.name);
  if (found != entries.end()) erase(found->second);
}

const PresenceTable::Entry* PresenceTable::find(const NodeId& id) const {
  const Entries& entries = entries_[static_cast<size_t>(id.kind)];
  const auto found = entries.find(id.name);
  return found == entries.end() ? nullptr : &found->second;
}

InstanceId PresenceTable::other_instance(const NodeId& id, InstanceId instance, Time now) const {
  const Entry* entry = find(id);
  return entry == nullptr ? 0 : entry->instances.other_than(instance, now);
}

bool PresenceTable::are_two(const NodeId& id, Time now) const {
  const Entry* entry = find(id);
  return entry != nullptr && entry->instances.are_two(now);
}

bool PresenceTable::leave(const NodeId& id, InstanceId instance, Time now) {
  Entries& entries = entries_[static_cast<size_t>(id.kind)];
  const auto found = entries.find(id.name);
  return found == entries.end() || found->second.instances.leave(instance, now);
}

void PresenceTable::grant_grace(Time now) {
  graces_ += 1;
  for (Entry* entry : due_) {
    entry->deadline = std::max(entry->deadline, now + entry->ttl);
    entry->due = entry->deadline;
  }
  for (size_t i = due_.size() / 2; i > 0; --i) sift_down(i - 1);
}

std::vector<Overdue> PresenceTable::on_tick(Time now, size_t limit) {
  const bool stalled = last_tick_ && now - *last_tick_ > options_.stall;
  last_tick_ = now;
  if (stalled) grant_grace(now);
  std::vector<Overdue> overdue;
  while (!due_.empty() && due_.front()->due <= now && overdue.size() < limit) {
    Entry& entry = *due_.front();
    overdue.push_back({entry.id, entry.heartbeat, entry.deadline});
    schedule(entry, now + options_.retry);
  }
  return overdue;
}

std::optional<Time> PresenceTable::next_deadline() const {
  if (due_.empty()) return std::nullopt;
  return due_.front()->due;
}

PresenceTable::Entry& PresenceTable::find_or_add(const NodeId& id) {
  Entries& entries = entries_[static_cast<size_t>(id.kind)];
  const auto [found, added] = entries.try_emplace(id.name);
  Entry& entry = found->second;
  if (added) {
    entry.id = id;
    counts_of(entry).online += 1;
  }
  return entry;
}

void PresenceTable::set_online(Entry& entry, Time deadline) {
  if (entry.offline) {
    counts_of(entry).offline -= 1;
    counts_of(entry).online += 1;
    entry.offline = false;
  }
  entry.deadline = deadline;
  schedule(entry, deadline);
}

void PresenceTable::set_offline(Entry& entry) {
  unschedule(entry);
  if (entry.offline) return;
  counts_of(entry).online -= 1;
  counts_of(entry).offline += 1;
  entry.offline = true;
}

void PresenceTable::erase(Entry& entry) {
  unschedule(entry);
  (entry.offline ? counts_of(entry).offline : counts_of(entry).online) -= 1;
  Entries& entries = entries_[static_cast<size_t>(entry.id.kind)];
  entries.erase(entries.find(entry.id.name));
}

void PresenceTable::schedule(Entry& entry, Time due) {
  entry.due = due;
  if (entry.heap_index == kNoIndex) {
    due_.push_back(nullptr);
    place(due_.size() - 1, &entry);
  }
  sift_up(entry.heap_index);
  sift_down(entry.heap_index);
}

void PresenceTable::unschedule(Entry& entry) {
  if (entry.heap_index == kNoIndex) return;
  const size_t index = entry.heap_index;
  Entry* last = due_.back();
  due_.pop_back();
  entry.heap_index = kNoIndex;
  if (last == &entry) return;
  place(index, last);
  sift_up(index);
  sift_down(last->heap_index);
}

void PresenceTable::place(size_t index, Entry* entry) {
  due_[index] = entry;
  entry->heap_index = index;
}

void PresenceTable::sift_up(size_t index) {
  Entry* moving = due_[index];
  while (index > 0 && moving->due < due_[(index - 1) / 2]->due) {
    place(index, due_[(index - 1) / 2]);
    index = (index - 1) / 2;
  }
  place(index, moving);
}

void PresenceTable::sift_down(size_t index) {
  Entry* moving = due_[index];
  for (size_t child = 2 * index + 1; child < due_.size(); child = 2 * index + 1) {
    if (child + 1 < due_.size() && due_[child + 1]->due < due_[child]->due) child += 1;
    if (moving->due <= due_[child]->due) break;
    place(index, due_[child]);
    index = child;
  }
  place(index, moving);
}

}  // namespace holdfast::health
