#include "store/replicated_watch.h"

#include <algorithm>

namespace holdfast::store {

ReplicatedWatch::ReplicatedWatch(std::unique_ptr<Watch> inner, Admission& admission,
                                 std::set<ReplicatedWatch*>& registry)
    : inner_(std::move(inner)),
      admission_(admission),
      registry_(registry),
      activation_(admission.activation()),
      reached_(inner_->reached()) {
  registry_.insert(this);
}

asio::awaitable<Result<std::vector<Change>>> ReplicatedWatch::next() {
  while (!ended_) {
    Status status;
    if (held_.empty()) status = co_await fill();
    if (ended_) break;
    CO_TRY_OK(status);
    status = co_await admission_.acknowledged(held_.back().item.revision);
    if (ended_) break;
    if (admission_.activation() != activation_) {
      end(absl::OutOfRangeError("this half was passive meanwhile: read anew"));
      break;
    }
    CO_TRY_OK(status);
    reached_ = held_.back().item.revision;
    co_return std::exchange(held_, {});
  }
  co_return *ended_;
}

asio::awaitable<Status> ReplicatedWatch::fill() {
  CO_TRY(std::vector<Change> changes, co_await inner_->next());
  // As reached() was before them, for it never goes back.
  reached_ = std::max(
      reached_, std::min(changes.front().item.revision - 1, admission_.acknowledged_through()));
  held_ = std::move(changes);
  co_return absl::OkStatus();
}

Revision ReplicatedWatch::reached() const {
  if (!held_.empty()) return reached_;
  return std::max(reached_, std::min(inner_->reached(), admission_.acknowledged_through()));
}

void ReplicatedWatch::end(const Status& why) {
  if (ended_) return;
  ended_ = why;
  inner_->close();
}

}  // namespace holdfast::store
