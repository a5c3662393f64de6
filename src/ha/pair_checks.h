// What must hold of the pair at every step, whoever is dead, deaf or asleep.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ha/half.h"
#include "ha/pair_disk.h"

namespace holdfast::ha::sim {

class Checks {
 public:
  Checks(Mode mode, bool reads) : mode_(mode), reads_(reads) {}

  // A half was seen active.
  void on_active(const Half& half, const Disk& disk, const Record& record);
  // A half has written something of its own.
  void on_commit(Member member, const Disk& disk);
  // A half promised, on disk. Not after its disk was replaced.
  void on_promised(Member member, Epoch promised);
  // It knows no epoch any more. Without a witness it may begin again with the first. What was on it
  // up to `through` may still be acknowledged: it was on both.
  void forget_disk(Member member, store::Revision through) {
    const auto index = static_cast<size_t>(member);
    promised_[index] = active_epoch_[index] = 0;
    lost_[index] = through;
  }
  void on_record(const Record& record, const std::array<const Disk*, 2>& disks);
  // A half tells a client that this was written.
  void on_ack(Member member, const Write& write, const Record& record,
              const std::array<const Disk*, 2>& disks);
  // A client heard it; before: what was visible when it asked.
  void on_write_heard(const Write& write, store::Revision before);
  // A client read this; at_least: what had to be visible when it asked.
  void on_read(uint32_t key, store::Revision revision, uint64_t value, store::Revision at_least);
  // An agent did what a half of `epoch` said.
  void on_obeyed(size_t agent, Epoch epoch);
  Epoch obeyed(size_t agent) const { return obeyed_.contains(agent) ? obeyed_.at(agent) : 0; }
  // `mine` is about to be replaced, and could have gone on with entries.
  void on_copy(Member member, const Disk& mine, const Disk& copy);
  // When all is over: nothing that anyone saw has vanished from `disk`; or, in best-effort, it is
  // among `kept`.
  void at_the_end(const Disk& disk, const std::vector<uint64_t>& kept);
  // Whether `disk` has all that was acknowledged.
  bool has_everything(const Disk& disk) const;

  store::Revision must_show(uint32_t key) const { return shown_[key]; }
  void fail(const std::string& what);
  const std::vector<std::string>& failures() const { return failures_; }
  uint64_t acks() const { return acked_.size(); }
  uint64_t reads() const { return reads_done_; }
  uint64_t switches() const { return switches_; }

 private:
  bool has(const Disk& disk, const Write& write) const;
  void check_all_on(const Disk& disk, const std::string& when);

  Mode mode_;
  bool reads_;  // whether the clocks run alike, so that leases hold
  std::map<Epoch, Member> actives_;
  std::array<Epoch, 2> active_epoch_{};
  std::array<Epoch, 2> promised_{};
  std::array<Epoch, 2> written_{};  // the epoch of the last own write
  std::array<store::Revision, 2> lost_{};
  Epoch recorded_ = 0;
  std::optional<Member> last_active_;
  std::vector<Write> acked_;  // in the order of their acknowledgement
  std::vector<Write> seen_;   // by readers
  std::array<store::Revision, 8> shown_{};
  std::map<size_t, Epoch> obeyed_;
  uint64_t switches_ = 0;
  uint64_t reads_done_ = 0;
  std::vector<std::string> failures_;
};

}  // namespace holdfast::ha::sim
