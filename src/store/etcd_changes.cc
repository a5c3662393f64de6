#include "store/etcd_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/bytes.h"
#include "store/etcd_txn.h"

namespace holdfast::store {
namespace {

Status ended(const etcdserverpb::WatchResponse& response, Revision seen) {
  if (response.compact_revision() != 0) {
    return absl::OutOfRangeError(
        fmt::format("changes after revision {} are no longer kept, only those after {}", seen,
                    response.compact_revision()));
  }
  const std::string reason = in_quotes(response.cancel_reason(), 200);
  if (response.cancel_reason().find("permission denied") != std::string::npos) {
    return absl::PermissionDeniedError(fmt::format("etcd refused the watch: {}", reason));
  }
  return absl::UnavailableError(fmt::format("etcd ended the watch: {}", reason));
}

}  // namespace

Result<Change> EtcdChanges::decode(const etcdserverpb::StoredEvent& event) const {
  Change change;
  if (event.type() == etcdserverpb::StoredEvent::PUT) {
    TRY(change.item, decode_item(keys_, event.kv()));
    return change;
  }
  change.type = Change::Type::Delete;
  TRY(change.item.key, keys_.plain(event.kv().key()));
  change.item.revision = event.kv().mod_revision();
  return change;
}

Result<std::vector<Change>> EtcdChanges::add(const etcdserverpb::WatchResponse& response) {
  if (response.canceled() || response.compact_revision() != 0) return ended(response, seen_);
  std::vector<Change> complete = std::exchange(held_back_, {});
  for (const auto& event : response.events()) {
    const bool put = event.type() == etcdserverpb::StoredEvent::PUT;
    if (put && keys_.plain(event.kv().key()).ok() && is_foreign(event.kv())) continue;
    TRY(Change change, decode(event));
    if (change.item.revision <= seen_) continue;
    if (!complete.empty() && change.item.revision < complete.back().item.revision) {
      return absl::DataLossError("etcd sent changes out of order");
    }
    complete.push_back(std::move(change));
  }
  if (response.fragment() && !complete.empty()) {
    const Revision last = complete.back().item.revision;
    const auto begin = std::ranges::find(complete, last,
                                         [](const Change& change) { return change.item.revision; });
    held_back_.assign(std::move_iterator(begin), std::move_iterator(complete.end()));
    complete.erase(begin, complete.end());
  }
  // An answer without events, other than the first, says how far the watch has come.
  const bool progress = response.events().empty() && !response.created() && !response.fragment();
  if (!complete.empty()) {
    seen_ = complete.back().item.revision;
  } else if (progress) {
    seen_ = std::max<Revision>(seen_, response.header().revision());
  }
  return complete;
}

}  // namespace holdfast::store
