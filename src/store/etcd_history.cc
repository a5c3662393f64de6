#include "store/etcd_history.h"

#include <fmt/format.h>

namespace holdfast::store {

std::optional<Result<std::optional<Revision>>> EtcdHistorySearch::add(
    const etcdserverpb::WatchResponse& response) {
  if (response.compact_revision() != 0) {
    return absl::OutOfRangeError("etcd no longer keeps the history of the write");
  }
  if (response.canceled()) return absl::UnavailableError("etcd ended the search in its history");
  for (const auto& event : response.events()) {
    const bool is_put = event.type() == etcdserverpb::StoredEvent::PUT;
    etcdserverpb::HoldfastValue stored;
    if (is_put && stored.ParseFromString(event.kv().value()) &&
        stored.write_id() == target_.write_id) {
      return std::optional<Revision>(event.kv().mod_revision());
    }
    const bool past_fence = event.kv().mod_revision() > target_.fence_revision ||
                            (event.kv().mod_revision() == target_.fence_revision &&
                             event.kv().key() == target_.fence_key);
    if (past_fence) return std::optional<Revision>();
  }
  return std::nullopt;
}

}  // namespace holdfast::store
