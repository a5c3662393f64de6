// A commit as one etcd transaction, and etcd's answer as ours. Core: bytes in, bytes out; what etcd
// says is foreign and checked.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "etcd/etcd.pb.h"
#include "store/etcd_keys.h"
#include "store/store.h"

namespace holdfast::store {

// The transaction is refused if the fence's last change is not `revision` (0: it was never
// written).
struct EtcdFence {
  std::string key{};
  Revision revision = 0;
};

struct EtcdCommit {
  std::vector<Operation> operations{};
  std::vector<int64_t> leases{};  // one per operation; 0: none
  std::string write_id{};         // unique to this commit, kept in every value it writes
  std::optional<EtcdFence> fence{};
};

// etcd refuses a transaction with more compares or operations than this (--max-txn-ops).
inline constexpr size_t kEtcdMaxOperations = 128;
// Whether there is room for a fence among the compares.
bool can_fence(const std::vector<Operation>& operations);

etcdserverpb::TxnRequest encode_commit(const EtcdKeys& keys, const EtcdCommit& commit);

struct FenceMoved {
  Revision revision = 0;
};
using CommitAnswer = std::variant<Revision, FenceMoved>;
// The commit's revision; or that its fence has moved, and nothing was applied; or the error of the
// first precondition that failed; kDataLoss for an answer that makes no sense.
Result<CommitAnswer> decode_commit(const EtcdCommit& commit,
                                   const etcdserverpb::TxnResponse& response);

// Whether a value under our prefix was not written by us: watches and ranges pass over it.
bool is_foreign(const etcdserverpb::KeyValue& pair);
// kDataLoss for a key that is not ours or a value that Holdfast did not write.
Result<Item> decode_item(const EtcdKeys& keys, const etcdserverpb::KeyValue& pair);

}  // namespace holdfast::store
