// The witness: keeps one record for a pair, on disk, and changes it by compare-and-set only.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

#include <memory>
#include <string>

#include "base/result.h"
#include "ha/types.h"
#include "ha/witness.h"
#include "holdfast/v1/pair.pb.h"

namespace holdfast::ha {

namespace asio = boost::asio;

struct WitnessStats {
  uint64_t reads = 0;
  uint64_t accepted = 0;
  uint64_t refused = 0;  // another was faster, or is not in sync; or it cannot be kept
  uint64_t failed = 0;   // the disk did not take it
};

class WitnessService {
 public:
  // kDataLoss HF4204 if the file is damaged. Blocks.
  static Result<std::unique_ptr<WitnessService>> open(const asio::any_io_executor& loop,
                                                      std::string path);

  // On its disk. kUnavailable HF4205 while it does not know what that is.
  asio::awaitable<Result<v1::WitnessRecord>> read();
  // Answered when it is on the disk. Refusals are answers. kInvalidArgument HF4203: it makes no
  // sense. kUnavailable HF4205: outcome unknown.
  asio::awaitable<Result<v1::ChangeRecordResponse>> change(v1::ChangeRecordRequest request);

  const Record& record() const { return record_; }
  // OK, or HF4205 why the last record was not written: until one is. Whoever reads makes it try the
  // record that it has.
  const Status& disk() const { return written_; }
  const WitnessStats& stats() const { return stats_; }

 private:
  WitnessService(const asio::any_io_executor& loop, std::string path, Record record);
  asio::awaitable<Result<v1::ChangeRecordResponse>> change_next(RecordChange wanted);
  asio::awaitable<Status> find_out();
  asio::awaitable<Status> save(Record record);
  asio::awaitable<void> try_disk();

  asio::any_io_executor loop_;
  const std::string path_;
  Record record_;
  bool certain_ = true;  // record_ is what the file says
  Status written_;
  WitnessStats stats_;
  bool busy_ = false;
  asio::steady_timer free_;
  asio::thread_pool disk_{1};
};

}  // namespace holdfast::ha
