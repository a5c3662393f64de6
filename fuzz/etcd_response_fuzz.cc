// What etcd answers is foreign: no bytes of a transaction's, a range's or a watch's answer may
// crash us, and no watch may hand out a revision twice or in part.
#include <cstdint>
#include <cstdlib>

#include "etcd/etcd.pb.h"
#include "store/etcd_changes.h"
#include "store/etcd_history.h"
#include "store/etcd_txn.h"

namespace holdfast::store {
namespace {

Operation operation(std::string key, Precondition precondition) {
  Operation result;
  result.key = std::move(key);
  result.precondition = precondition;
  result.revision = 3;
  return result;
}

void answer_to_a_commit(const std::string& bytes) {
  etcdserverpb::TxnResponse response;
  if (!response.ParseFromString(bytes)) return;
  EtcdCommit commit;
  commit.operations = {operation("a", Precondition::Absent), operation("b", Precondition::None),
                       operation("c", Precondition::Revision)};
  commit.fence = EtcdFence{.key = "fence", .revision = 5};
  static_cast<void>(decode_commit(commit, response));
}

void answer_to_a_range(const std::string& bytes) {
  etcdserverpb::RangeResponse response;
  if (!response.ParseFromString(bytes)) return;
  const EtcdKeys keys("/h");
  for (const auto& pair : response.kvs()) static_cast<void>(decode_item(keys, pair));
}

void answer_to_a_watch(const std::string& bytes) {
  etcdserverpb::WatchResponse response;
  if (!response.ParseFromString(bytes)) return;
  EtcdHistorySearch history({.write_id = "w", .fence_key = "/h/f", .fence_revision = 9});
  static_cast<void>(history.add(response));
  EtcdChanges changes(EtcdKeys("/h"), 2);
  Revision last = changes.seen();
  for (int round = 0; round < 2; ++round) {
    const auto batch = changes.add(response);
    if (!batch.ok()) return;
    if (!batch->empty() && batch->front().item.revision <= last) std::abort();
    if (!batch->empty()) last = batch->back().item.revision;
    if (changes.seen() != last) std::abort();
  }
}

}  // namespace
}  // namespace holdfast::store

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 3) {
    case 0:
      holdfast::store::answer_to_a_commit(bytes);
      break;
    case 1:
      holdfast::store::answer_to_a_range(bytes);
      break;
    default:
      holdfast::store::answer_to_a_watch(bytes);
  }
  return 0;
}
