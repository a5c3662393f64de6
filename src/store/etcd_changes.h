// From the answers of etcd's watch to our changes: whole revisions, in order, each once. Core.
//
// With fragments allowed, etcd may cut an answer inside a revision; the last revision of a fragment
// is held back until the rest of it came.
#pragma once

#include <vector>

#include "base/result.h"
#include "etcd/etcd.pb.h"
#include "store/etcd_keys.h"
#include "store/store.h"

namespace holdfast::store {

class EtcdChanges {
 public:
  // Changes up to and including `after` were seen before.
  EtcdChanges(EtcdKeys keys, Revision after) : keys_(std::move(keys)), seen_(after) {}

  // What became complete with this answer, possibly nothing. kOutOfRange: compacted; kUnavailable:
  // etcd ended the watch for now, ask again elsewhere; kPermissionDenied; kDataLoss.
  Result<std::vector<Change>> add(const etcdserverpb::WatchResponse& response);

  // Forgets what was held back: a new stream starts after seen().
  void restart() { held_back_.clear(); }

  // All up to this revision was handed out or does not concern us; a new stream starts after it.
  Revision seen() const { return seen_; }

 private:
  Result<Change> decode(const etcdserverpb::StoredEvent& event) const;

  EtcdKeys keys_;
  Revision seen_;
  std::vector<Change> held_back_;  // of one revision
};

}  // namespace holdfast::store
