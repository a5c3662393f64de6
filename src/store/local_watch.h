// A watch on a store that lives in this process: a cursor over its history and a wait for more.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "store/change_log.h"
#include "store/store.h"

namespace holdfast::store {

// Wakes every coroutine that waits for it. Belongs to one executor.
class Signal {
 public:
  explicit Signal(const asio::any_io_executor& executor);
  asio::awaitable<void> wait();
  void notify_all() { timer_.cancel(); }

 private:
  asio::steady_timer timer_;
};

// Where a watch reads from; outlives its watches.
class ChangeSource {
 public:
  virtual ~ChangeSource() = default;
  // As ChangeLog::read, with the source's own bound on how much comes at once.
  virtual asio::awaitable<Result<ChangeSlice>> read_changes(const KeyRange& range,
                                                            Revision after) = 0;
  virtual Signal& changed() = 0;
  // Grows when another history takes the place of this one: watches of before end.
  virtual uint64_t generation() const = 0;
};

class LocalWatch final : public Watch {
 public:
  LocalWatch(ChangeSource& source, KeyRange range, Revision after)
      : source_(source),
        range_(std::move(range)),
        after_(after),
        generation_(source.generation()) {}

  // Whether it can begin where it should, asked once.
  asio::awaitable<Status> check();
  asio::awaitable<Result<std::vector<Change>>> next() override;
  Revision reached() const override { return after_; }
  void close() override;

 private:
  asio::awaitable<Result<ChangeSlice>> read();

  ChangeSource& source_;
  KeyRange range_;
  Revision after_;
  uint64_t generation_;
  bool closed_ = false;
};

}  // namespace holdfast::store
