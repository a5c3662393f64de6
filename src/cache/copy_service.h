// Loads and saves a cache's copy on a thread of its own: sealing 100,000 agents and syncing them to
// a disk takes longer than a loop may stand still. The tables it saves never change and are kept
// alive on the loop until it is done.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>

#include <vector>

#include "base/result.h"
#include "cache/cache_options.h"
#include "cache/copy_loader.h"

namespace holdfast::cache {

namespace asio = boost::asio;

struct CopyStats {
  uint64_t saves = 0;
  uint64_t failed_saves = 0;
  uint64_t failed_loads = 0;
};

// Belongs to one executor. Both calls go on to their end; one at a time.
class CopyService {
 public:
  // An empty folder: there is no copy, and nothing is saved.
  explicit CopyService(CopyPlace place) : place_(std::move(place)) {}

  bool enabled() const { return !place_.folder.empty(); }
  // kNotFound if there is none.
  asio::awaitable<Result<std::vector<KindCopy>>> load();
  asio::awaitable<Status> save(std::vector<KindCopy> copies, WallTime now);

  const CopyStats& stats() const { return stats_; }

 private:
  const CopyPlace place_;
  CopyStats stats_;
  asio::thread_pool worker_{1};
};

}  // namespace holdfast::cache
