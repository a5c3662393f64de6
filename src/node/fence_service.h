// The fence with its disk: each epoch that rises is in DATA/epoch before anything of it is acted
// on. An operator who really goes back to a controller without a pair deletes that file while the
// node is stopped (docs/pair-operations.md).
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "rpc/epoch.h"
#include "rpc/epoch_guard.h"

namespace holdfast::node {

// What is kept there of this cluster; zero if there is no such file, or it is of another cluster.
// kDataLoss HF4303 naming the file if it cannot be read.
Result<rpc::KeptEpoch> load_epoch(const std::string& path, std::string cluster);

// Belongs to one executor.
class FenceService {
 public:
  // `kept` is what was loaded from there. An empty path: nothing is kept.
  FenceService(std::string path, rpc::KeptEpoch kept);
  FenceService(const FenceService&) = delete;
  FenceService& operator=(const FenceService&) = delete;

  // For PickHealthyService, which this outlives.
  rpc::Fence hooks();
  // kUnavailable HF4302: it is over. kUnavailable HF4304: it could not be kept, so it does not
  // count.
  Status admit(uint64_t epoch);

  uint64_t highest() const { return guard_.highest(); }
  uint64_t refused() const { return guard_.refused(); }
  // Why the last answer was refused; OK once one was admitted after it.
  const Status& last() const { return last_; }

 private:
  Status keep(uint64_t epoch);

  std::string path_;
  std::string cluster_;
  rpc::EpochGuard guard_;
  Status last_;
};

}  // namespace holdfast::node
