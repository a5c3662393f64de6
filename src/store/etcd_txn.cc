#include "store/etcd_txn.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"

namespace holdfast::store {
namespace {

using etcdserverpb::Compare;
using etcdserverpb::TxnRequest;

constexpr int64_t kMaxUnixMilliseconds = int64_t{1} << 53;

std::string encode_value(const Operation& operation, const std::string& write_id) {
  etcdserverpb::HoldfastValue stored;
  stored.set_value(operation.value);
  stored.set_write_id(write_id);
  if (operation.expires) {
    // Zero means that it never expires, so an expiry in 1970 or before counts as its first moment.
    stored.set_expires_unix_ms(std::max<int64_t>(1, operation.expires->time_since_epoch().count()));
  }
  return stored.SerializeAsString();
}

void add_compare(TxnRequest& txn, const std::string& key, const Operation& operation) {
  Compare& compare = *txn.add_compare();
  compare.set_key(key);
  if (operation.precondition == Precondition::Revision) {
    compare.set_target(Compare::MOD);
    // etcd gives an absent key revision 0, but no item is ever at it: that compare must fail.
    compare.set_mod_revision(operation.revision == 0 ? -1 : operation.revision);
    return;
  }
  const bool absent = operation.precondition == Precondition::Absent;
  compare.set_target(Compare::CREATE);
  compare.set_result(absent ? Compare::EQUAL : Compare::GREATER);
  compare.set_create_revision(0);
}

void add_look(TxnRequest& txn, const std::string& key) {
  auto& range = *txn.add_failure()->mutable_request_range();
  range.set_key(key);
  range.set_keys_only(true);
}

void add_write(TxnRequest& txn, const std::string& key, const Operation& operation,
               const std::string& write_id, int64_t lease) {
  if (operation.type == Operation::Type::Put) {
    auto& put = *txn.add_success()->mutable_request_put();
    put.set_key(key);
    put.set_value(encode_value(operation, write_id));
    put.set_lease(lease);
  } else if (operation.type == Operation::Type::Delete) {
    txn.add_success()->mutable_request_delete_range()->set_key(key);
  }
}

// The revision of the key a failure branch looked at; 0 if it is absent.
Result<Revision> looked_at(const etcdserverpb::TxnResponse& response, int index) {
  if (index >= response.responses_size() || !response.responses(index).has_response_range() ||
      response.responses(index).response_range().kvs_size() > 1) {
    return absl::DataLossError("etcd's answer to a refused transaction has the wrong shape");
  }
  const auto& found = response.responses(index).response_range();
  return found.kvs_size() == 0 ? 0 : found.kvs(0).mod_revision();
}

Status precondition_error(const Operation& operation, Revision found) {
  const std::string key = in_quotes(operation.key);
  switch (operation.precondition) {
    case Precondition::None:
      return absl::OkStatus();
    case Precondition::Absent:
      return found == 0 ? absl::OkStatus()
                        : absl::AlreadyExistsError(fmt::format("{} exists already", key));
    case Precondition::Present:
      return found != 0 ? absl::OkStatus() : absl::NotFoundError(fmt::format("no key {}", key));
    case Precondition::Revision:
      if (found == 0) return absl::NotFoundError(fmt::format("no key {}", key));
      if (found == operation.revision) return absl::OkStatus();
      return absl::AbortedError(
          fmt::format("{} is at revision {}, not {}", key, found, operation.revision));
  }
  return absl::InternalError("unknown precondition");
}

}  // namespace

bool can_fence(const std::vector<Operation>& operations) {
  const auto compared = std::ranges::count_if(operations, [](const Operation& operation) {
    return operation.precondition != Precondition::None;
  });
  return static_cast<size_t>(compared) < kEtcdMaxOperations;
}

TxnRequest encode_commit(const EtcdKeys& keys, const EtcdCommit& commit) {
  TxnRequest txn;
  for (size_t i = 0; i < commit.operations.size(); ++i) {
    const Operation& operation = commit.operations[i];
    const std::string key = keys.stored(operation.key);
    if (operation.precondition != Precondition::None) {
      add_compare(txn, key, operation);
      add_look(txn, key);
    }
    const int64_t lease = i < commit.leases.size() ? commit.leases[i] : 0;
    add_write(txn, key, operation, commit.write_id, lease);
  }
  if (commit.fence) {
    Compare& compare = *txn.add_compare();
    compare.set_key(commit.fence->key);
    compare.set_target(Compare::MOD);
    compare.set_mod_revision(commit.fence->revision);
    add_look(txn, commit.fence->key);
  }
  return txn;
}

Result<CommitAnswer> decode_commit(const EtcdCommit& commit,
                                   const etcdserverpb::TxnResponse& response) {
  if (response.succeeded()) return response.header().revision();
  Status first_failure;
  int look = 0;
  for (const Operation& operation : commit.operations) {
    if (operation.precondition == Precondition::None) continue;
    TRY(const Revision found, looked_at(response, look++));
    if (first_failure.ok()) first_failure = precondition_error(operation, found);
  }
  if (commit.fence) {
    TRY(const Revision found, looked_at(response, look++));
    if (found != commit.fence->revision) return FenceMoved{found};
  }
  if (!first_failure.ok()) return first_failure;
  return absl::DataLossError("etcd refused a transaction whose preconditions hold");
}

bool is_foreign(const etcdserverpb::KeyValue& pair) {
  return !etcdserverpb::HoldfastValue().ParseFromString(pair.value());
}

Result<Item> decode_item(const EtcdKeys& keys, const etcdserverpb::KeyValue& pair) {
  Item item;
  TRY(item.key, keys.plain(pair.key()));
  etcdserverpb::HoldfastValue stored;
  if (!stored.ParseFromString(pair.value())) {
    return absl::DataLossError(
        fmt::format("the value of {} in etcd was not written by Holdfast", in_quotes(item.key)));
  }
  item.value = std::move(*stored.mutable_value());
  item.revision = pair.mod_revision();
  item.created_revision = pair.create_revision();
  const int64_t expires = stored.expires_unix_ms();
  if (expires < 0 || expires > kMaxUnixMilliseconds) {
    return absl::DataLossError(fmt::format("{} has no possible expiry", in_quotes(item.key)));
  }
  if (expires > 0) item.expires = WallTime(std::chrono::milliseconds(expires));
  return item;
}

}  // namespace holdfast::store
