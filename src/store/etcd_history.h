// Looks for one write in etcd's history. Core: fed with the answers of a watch on everything of
// ours, it ends when it finds the write or reaches the fence that the write cannot be above.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "etcd/etcd.pb.h"
#include "store/store.h"

namespace holdfast::store {

class EtcdHistorySearch {
 public:
  struct Target {
    std::string write_id{};
    std::string fence_key{};
    Revision fence_revision = 0;
  };

  explicit EtcdHistorySearch(Target target) : target_(std::move(target)) {}

  // The revision of the write; nullopt inside: it is not in the history; nothing: feed it more.
  // kOutOfRange if the history was compacted, kUnavailable if another member may have it.
  std::optional<Result<std::optional<Revision>>> add(const etcdserverpb::WatchResponse& response);

 private:
  Target target_;
};

}  // namespace holdfast::store
