// A store for tests that passes everything on to another, and fails or hangs when told to.
#pragma once

#include <boost/asio/any_io_executor.hpp>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "store/local_watch.h"
#include "store/store.h"

namespace holdfast::api {

namespace asio = boost::asio;

class FaultyStore final : public store::Store {
 public:
  explicit FaultyStore(store::Store& inner) : inner_(inner) {}

  asio::awaitable<Result<store::Item>> get(std::string key) override {
    if (dawdle) co_await dawdle();
    co_return co_await inner_.get(std::move(key));
  }
  asio::awaitable<Result<store::RangeResult>> range(store::RangeRequest request) override {
    ranges += 1;
    if (failing_ranges > 0) {
      failing_ranges -= 1;
      co_return absl::UnavailableError("no answer");
    }
    Result<store::RangeResult> result = co_await inner_.range(std::move(request));
    if (after_range) after_range();
    co_return result;
  }
  asio::awaitable<Result<store::Revision>> commit(
      std::vector<store::Operation> operations) override {
    commits += 1;
    hanging += 1;
    while (hang != nullptr) co_await hang->wait();
    hanging -= 1;
    if (!failure.ok()) co_return failure;
    if (before_commit) co_await before_commit(operations);
    if (dawdle) co_await dawdle();
    Result<store::Revision> result = co_await inner_.commit(std::move(operations));
    if (dawdle) co_await dawdle();
    const bool lost = lose_answer && lose_answer();
    if (lost) co_return absl::UnavailableError("outcome unknown: the answer was lost");
    co_return result;
  }
  asio::awaitable<Result<std::unique_ptr<store::Watch>>> watch(store::KeyRange range,
                                                               store::Revision after) override {
    co_return co_await inner_.watch(std::move(range), after);
  }
  asio::awaitable<Result<size_t>> expire(WallTime now, size_t limit) override {
    co_return co_await inner_.expire(now, limit);
  }
  asio::awaitable<Status> compact(store::Revision through) override {
    co_return co_await inner_.compact(through);
  }

  // Commits hang from now until thaw().
  void freeze(const asio::any_io_executor& executor) {
    hang = std::make_unique<store::Signal>(executor);
  }
  void thaw() {
    const std::unique_ptr<store::Signal> was = std::move(hang);
    was->notify_all();
  }

  std::function<void()> after_range{};
  std::function<asio::awaitable<void>(const std::vector<store::Operation>&)> before_commit{};
  std::function<asio::awaitable<void>()> dawdle{};  // before and after a get or a commit
  std::function<bool()> lose_answer{};              // to a commit that was made, or refused
  Status failure{};                                 // of every commit
  int failing_ranges = 0;
  int ranges = 0;
  int commits = 0;
  int hanging = 0;
  std::unique_ptr<store::Signal> hang{};

 private:
  store::Store& inner_;
};

}  // namespace holdfast::api
