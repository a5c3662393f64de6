#include "ha/pair_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace holdfast::ha::sim {

void Checks::fail(const std::string& what) {
  if (failures_.size() < 5) failures_.push_back(what);
}

bool Checks::has(const Disk& disk, const Write& write) const {
  const Write* found = disk.at(write.head.revision);
  return found != nullptr && *found == write;
}

bool Checks::has_everything(const Disk& disk) const {
  return std::ranges::all_of(acked_, [&](const Write& write) { return has(disk, write); });
}

void Checks::check_all_on(const Disk& disk, const std::string& when) {
  for (const Write& write : acked_) {
    if (has(disk, write)) continue;
    return fail(fmt::format("{}: revision {} of epoch {} was acknowledged and is not there", when,
                            write.head.revision, write.head.epoch));
  }
}

void Checks::on_active(const Half& half, const Disk& disk, const Record& record) {
  const Member member = half.options().pair.me;
  const size_t index = static_cast<size_t>(member);
  const Epoch epoch = half.protocol().epoch();
  if (active_epoch_[index] == epoch) return;
  const auto [found, is_new] = actives_.try_emplace(epoch, member);
  if (found->second != member) fail(fmt::format("two halves were active in epoch {}", epoch));
  if (epoch < active_epoch_[index]) {
    fail(fmt::format("the {} was active in epoch {} and then in {}", to_string(member),
                     active_epoch_[index], epoch));
  }
  active_epoch_[index] = epoch;
  if (is_new && epoch == actives_.rbegin()->first) {
    if (last_active_ != member) switches_ += 1;
    last_active_ = member;
  }
  // Who resumes by an old answer of the witness lacks what was acknowledged since. It requires
  // both, and the other half takes nothing of its epoch: that it acknowledges nothing is checked
  // when it does.
  const bool over = half.protocol().required() == Members::both() && record.epoch > epoch;
  if (mode_ != Mode::Witness || !is_new || over) return;
  check_all_on(disk, fmt::format("the {} begins epoch {}", to_string(member), epoch));
}

// Without a witness a half may begin with less than the other has, and gives way then. Once it has
// written it does not, so it must have had everything.
void Checks::on_commit(Member member, const Disk& disk) {
  Epoch& last = written_[static_cast<size_t>(member)];
  if (mode_ != Mode::Sync || last == disk.head.epoch) return;
  last = disk.head.epoch;
  check_all_on(disk, fmt::format("the {} writes in epoch {}", to_string(member), last));
}

void Checks::on_promised(Member member, Epoch promised) {
  Epoch& before = promised_[static_cast<size_t>(member)];
  if (promised < before) {
    fail(fmt::format("the {} promised {} and then {}", to_string(member), before, promised));
  }
  before = promised;
}

void Checks::on_record(const Record& record, const std::array<const Disk*, 2>& disks) {
  if (record.epoch <= recorded_) {
    fail(fmt::format("the record was at epoch {} and then at {}", recorded_, record.epoch));
  }
  recorded_ = record.epoch;
  for (const Member member : {Member::Primary, Member::Backup}) {
    const Disk& disk = *disks[static_cast<size_t>(member)];
    if (!record.in_sync.has(member) || record.store_id(member) != disk.store_id) continue;
    check_all_on(
        disk, fmt::format("the record of epoch {} names the {}", record.epoch, to_string(member)));
  }
}

void Checks::on_ack(Member member, const Write& write, const Record& record,
                    const std::array<const Disk*, 2>& disks) {
  acked_.push_back(write);
  if (mode_ == Mode::BestEffort) return;
  for (const Member one : {Member::Primary, Member::Backup}) {
    const Disk& disk = *disks[static_cast<size_t>(one)];
    const bool in_sync =
        mode_ == Mode::Sync || (record.in_sync.has(one) && record.store_id(one) == disk.store_id);
    const bool was_there = write.head.revision <= lost_[static_cast<size_t>(one)];
    if (!in_sync || has(disk, write) || was_there) continue;
    fail(fmt::format("the {} acknowledged revision {} that is not on the disk of the {}",
                     to_string(member), write.head.revision, to_string(one)));
  }
  const Disk& own = *disks[static_cast<size_t>(member)];
  const size_t recent = acked_.size() - std::min<size_t>(acked_.size(), 40);
  for (size_t i = recent; i < acked_.size(); ++i) {
    // A half that was asleep may still tell of what it wrote before the other took over.
    if (acked_[i].head.revision < write.head.revision && !has(own, acked_[i])) {
      fail(fmt::format("the {} acknowledges {} but lacks {}, acknowledged before",
                       to_string(member), write.head.revision, acked_[i].head.revision));
    }
  }
}

void Checks::on_write_heard(const Write& write, store::Revision before) {
  if (mode_ != Mode::BestEffort && write.head.revision <= before) {
    fail(fmt::format("a write of key {} became revision {}, but {} was known before it began",
                     write.key, write.head.revision, before));
  }
  shown_[write.key] = std::max(shown_[write.key], write.head.revision);
}

void Checks::on_read(uint32_t key, store::Revision revision, uint64_t value,
                     store::Revision at_least) {
  reads_done_ += 1;
  if (mode_ == Mode::BestEffort || !reads_) return;
  if (revision < at_least) {
    fail(fmt::format("a read of key {} showed revision {}, but {} was known before it began", key,
                     revision, at_least));
  }
  shown_[key] = std::max(shown_[key], revision);
  if (revision == 0) return;
  Write write{.head = {.revision = revision}, .key = key, .value = value};
  seen_.push_back(write);
}

void Checks::on_obeyed(size_t agent, Epoch epoch) {
  Epoch& before = obeyed_[agent];
  if (epoch < before) {
    fail(fmt::format("agent {} obeyed epoch {} and then {}", agent, before, epoch));
  }
  before = std::max(before, epoch);
}

void Checks::on_copy(Member member, const Disk& mine, const Disk& copy) {
  // One that the network delivers twice is the same history again.
  if (copy.head == mine.head || mine.head.revision < copy.floor) return;
  if (!contains(copy.history(), mine.head)) return;
  fail(fmt::format("the {} at revision {} took a whole copy of {}, and entries from {} on are kept",
                   to_string(member), mine.head.revision, copy.head.revision, copy.floor));
}

void Checks::at_the_end(const Disk& disk, const std::vector<uint64_t>& kept) {
  for (const Write& write : acked_) {
    if (has(disk, write)) continue;
    const bool set_aside =
        mode_ == Mode::BestEffort && std::ranges::find(kept, write.value) != kept.end();
    if (set_aside) continue;
    fail(fmt::format("revision {} of epoch {} was acknowledged and is lost", write.head.revision,
                     write.head.epoch));
  }
  std::set<uint64_t> values;
  for (const Write& write : disk.log) {
    if (values.insert(write.value).second) continue;
    fail(fmt::format("revision {} is a write that was applied before", write.head.revision));
  }
  for (const Write& write : seen_) {
    const Write* found = disk.at(write.head.revision);
    if (found != nullptr && found->value == write.value && found->key == write.key) continue;
    fail(fmt::format("revision {} was read and has vanished", write.head.revision));
  }
}

}  // namespace holdfast::ha::sim
