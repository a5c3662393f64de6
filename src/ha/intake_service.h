// The passive half's side of replication: takes what the active one sends, in order, and answers
// when it is on the disk.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>

#include "base/result.h"
#include "ha/types.h"
#include "holdfast/v1/pair.pb.h"
#include "store/replica.h"

namespace holdfast::ha {

namespace asio = boost::asio;

// Called on the loop; only `before_copy` may wait.
struct IntakeHandlers {
  std::function<Status(Epoch)> may_take;  // Half::on_replicate
  std::function<void(Epoch, const Head&)> on_appended;
  std::function<void(Epoch)> on_promised;  // it only asked
  // A copy of this history will replace all there is here.
  std::function<asio::awaitable<Status>(const store::ReplicaFacts&)> before_copy;
  // What came does not go on from what is here, although its epochs say so: only a copy helps.
  std::function<void()> on_unfit;
  std::function<bool()> is_unfit;
};

struct IntakeStats {
  uint64_t entries = 0;
  uint64_t copies = 0;  // finished
};

class IntakeService {
 public:
  IntakeService(const asio::any_io_executor& loop, store::Replica& replica,
                IntakeHandlers handlers);

  // kFailedPrecondition HF4103: the sender's epoch is over. What does not continue our history is
  // not an error: the answer says where it ends, and if it needs a copy.
  asio::awaitable<Result<v1::ReplicateResponse>> take(v1::ReplicateRequest request);
  // Why what was sent last is not on the disk.
  const Status& obstacle() const { return obstacle_; }
  const IntakeStats& stats() const { return stats_; }

 private:
  void note(const Status& status);
  // Of a copy that is coming in.
  struct Copying {
    uint64_t id = 0;
    Epoch epoch = 0;
    Head head{};
    Head replaces{};  // where the own history ended when what it loses was kept
    uint64_t next_page = 0;
    uint64_t items = 0;
  };

  asio::awaitable<Result<v1::ReplicateResponse>> take_next(v1::ReplicateRequest request);
  asio::awaitable<Status> append(const v1::ReplicateRequest& request);
  asio::awaitable<Status> add_page(Epoch epoch, const v1::PairCopy& copy);
  asio::awaitable<Status> finish_copy(Copying copy);
  v1::ReplicateResponse answer() const;

  store::Replica& replica_;
  IntakeHandlers handlers_;
  Copying copying_;
  IntakeStats stats_;
  Status obstacle_{};
  bool busy_ = false;
  asio::steady_timer free_;
};

}  // namespace holdfast::ha
