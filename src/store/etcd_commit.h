// Commits whose outcome is known even when the answer is lost.
//
// A connection that breaks leaves three questions: was the write applied, may it still be, and may
// it be sent again? Each commit therefore compares a fence, a key of etcd nobody else reads:
//
//   send (fence at 7) ──lost──► move the fence to 12 ──► search 7..12 for the write
//                               the lost write can no longer   │found: its revision
//                               be applied                     └not found: send again (fence at 12)
//
// The search reads etcd's history, so it is right even if someone overwrote the key meanwhile.
#pragma once

#include <boost/asio/awaitable.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "store/etcd_client.h"
#include "store/etcd_keys.h"
#include "store/etcd_leases.h"
#include "store/etcd_txn.h"

namespace holdfast::store {

class EtcdCommitter {
 public:
  // The client outlives the committer.
  EtcdCommitter(const asio::any_io_executor& executor, EtcdClient& client, EtcdKeys keys,
                const EtcdOptions& options);

  // As Store::commit. Requires: the operations are valid.
  asio::awaitable<Result<Revision>> commit(std::vector<Operation> operations);

  // etcd is known to have reached this revision.
  void saw(Revision revision) { seen_ = std::max(seen_, revision); }

 private:
  struct Flight {
    EtcdCommit commit{};
    Time until{};
    Revision floor = 0;       // the write can only be above it
    bool in_doubt = false;    // an earlier try may have been applied before the fence
    bool lease_lost = false;  // leases were granted anew once
  };

  asio::awaitable<Result<Revision>> send(Flight flight);
  // What to tell the caller of a try's answer; nothing: try again.
  asio::awaitable<std::optional<Result<Revision>>> judge(
      Flight& flight, const Result<etcdserverpb::TxnResponse>& response);
  asio::awaitable<std::optional<Result<Revision>>> settle(Flight& flight, const Status& why);
  // Learns the fence and the revision from a member that answers.
  asio::awaitable<Status> reach_member(Time until);
  asio::awaitable<Status> move_fence(Revision from, Time until);
  void learn_fence(Revision revision, Revision as_of);
  // The revision of the write in (floor, fence]; nothing if it is not there.
  asio::awaitable<Result<std::optional<Revision>>> search(const Flight& flight);
  asio::awaitable<Result<std::optional<Revision>>> search_on_member(const Flight& flight);
  asio::awaitable<Status> grant_leases(Flight& flight);

  std::string next_write_id();

  asio::any_io_executor executor_;
  EtcdClient& client_;
  EtcdKeys keys_;
  EtcdLeases leases_;
  EtcdFence fence_;
  Revision fence_as_of_ = 0;
  Revision seen_ = 0;
  std::string writer_id_;
  uint64_t writes_ = 0;
};

}  // namespace holdfast::store
