// A whole pair: two controllers and a witness, each on a node of its own, joined the way an
// operator does it; and a test that reaches all three.
//
//     test ── switch ─┬─ primary
//                     ├─ backup
//                     └─ witness
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "e2e/pair_member.h"
#include "rpc/channel.h"
#include "support/netns.h"

namespace holdfast::test {

struct PairWorldOptions {
  std::string mode = "witness";  // "sync", "best-effort"; "none": the primary is alone
  bool small_disks = false;      // of both halves
};

class PairWorld {
 public:
  // One half is active and both are in sync when it returns. Requires: enter_own_network().
  explicit PairWorld(PairWorldOptions options = {});

  OwnNetwork& network() { return network_; }
  PairMember& primary() { return primary_; }
  PairMember& backup() { return backup_; }
  PairMember& witness() { return witness_; }
  PairMember& half(const std::string& name) { return name == "primary" ? primary_ : backup_; }
  PairMember& other(const PairMember& half) { return &half == &primary_ ? backup_ : primary_; }

  // The one that is active, as soon as there is one; waits for 20 seconds. Of two the one of the
  // later epoch: who is cut off cannot know that it was replaced, only that it may not serve.
  PairMember& active();
  PairMember& passive() { return other(active()); }
  // Those that say so now.
  std::vector<PairMember*> actives();
  // Exactly one is active and the other one in sync with it; waits.
  bool becomes_whole(Duration patience = std::chrono::seconds(30));
  // And their histories end alike, which they hardly do while somebody writes.
  bool becomes_equal(Duration patience = std::chrono::seconds(30));
  // Gives a half whose disk is empty its identity again, by way of the other one.
  void join_again(const PairMember& half) { join(half, "controller", other(half)); }
  // Starts who is dead, wakes who sleeps, heals the network.
  void mend();
  // What the halves say of the pair now, for failures.
  std::string describe();

  // Of someone who may do everything.
  const rpc::TlsOptions& admin() const { return admin_; }
  std::vector<std::string> addresses() const { return {primary_.address(), backup_.address()}; }

 private:
  void make_cluster();
  void join(const PairMember& member, const std::string& role, const PairMember& at);
  std::string config_of(const PairMember& half, bool paired) const;
  std::string config_of_witness() const;
  bool is_whole();
  bool is_equal();

  const PairWorldOptions options_;
  OwnNetwork network_;
  PairMember primary_;
  PairMember backup_;
  PairMember witness_;
  std::string pin_;
  rpc::TlsOptions admin_;
};

}  // namespace holdfast::test
