// A watch that hands out only what is acknowledged, whatever the inner watch has seen already.
#pragma once

#include <optional>

#include "store/replicated_store.h"

namespace holdfast::store {

class ReplicatedWatch final : public Watch {
 public:
  // `registry` holds it while it lives.
  ReplicatedWatch(std::unique_ptr<Watch> inner, Admission& admission,
                  std::set<ReplicatedWatch*>& registry);
  ~ReplicatedWatch() override { registry_.erase(this); }
  ReplicatedWatch(const ReplicatedWatch&) = delete;
  ReplicatedWatch& operator=(const ReplicatedWatch&) = delete;

  // A failed wait loses no change: the next call waits for the same ones again.
  asio::awaitable<Result<std::vector<Change>>> next() override;
  Revision reached() const override;
  void close() override { end(absl::CancelledError("the watch was closed")); }

  // Ends next() and every later one with `why`.
  void end(const Status& why);

 private:
  asio::awaitable<Status> fill();

  std::unique_ptr<Watch> inner_;
  Admission& admission_;
  std::set<ReplicatedWatch*>& registry_;
  uint64_t activation_;
  Revision reached_;
  std::vector<Change> held_;  // seen, and not yet known to be acknowledged
  std::optional<Status> ended_;
};

}  // namespace holdfast::store
