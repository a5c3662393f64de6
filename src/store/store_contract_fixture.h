// What the tests of the store contract share: a store, and its operations run to their end.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "store/store.h"

namespace holdfast::store {

// Runs the loop until the work is done and returns its result.
template <typename T>
T run(asio::io_context& io, asio::awaitable<T> work) {
  std::optional<T> result;
  asio::co_spawn(io, std::move(work), [&result](std::exception_ptr failure, T value) {
    HF_CHECK(failure == nullptr, "stores do not throw");
    result.emplace(std::move(value));
  });
  io.restart();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!result) {
    const size_t ran = io.run_one_until(deadline);
    HF_CHECK(ran > 0, "a store operation ends within a minute");
  }
  return *std::move(result);
}

inline Operation put(std::string key, std::string value) {
  Operation operation;
  operation.key = std::move(key);
  operation.value = std::move(value);
  return operation;
}

inline Operation put(std::string key, std::string value, Precondition precondition,
                     Revision revision = 0) {
  Operation operation = put(std::move(key), std::move(value));
  operation.precondition = precondition;
  operation.revision = revision;
  return operation;
}

inline Operation put_until(std::string key, std::string value, WallTime expires) {
  Operation operation = put(std::move(key), std::move(value));
  operation.expires = expires;
  return operation;
}

inline Operation erase(std::string key, Precondition precondition = Precondition::None,
                       Revision revision = 0) {
  Operation operation = put(std::move(key), "", precondition, revision);
  operation.type = Operation::Type::Delete;
  return operation;
}

inline Operation check(std::string key, Precondition precondition, Revision revision = 0) {
  Operation operation = put(std::move(key), "", precondition, revision);
  operation.type = Operation::Type::Check;
  return operation;
}

inline RangeRequest request(KeyRange range, size_t limit = 0) {
  return {.range = std::move(range), .limit = limit};
}

inline std::vector<std::string> keys_of(const std::vector<Item>& items) {
  std::vector<std::string> keys;
  for (const Item& item : items) keys.push_back(item.key);
  return keys;
}

// "put a=1@7", "delete a@8": changes as text, easy to compare. Revisions count from `origin`.
inline std::vector<std::string> texts(const std::vector<Change>& changes, Revision origin) {
  std::vector<std::string> result;
  for (const Change& change : changes) {
    const std::string at = "@" + std::to_string(change.item.revision - origin);
    const bool is_put = change.type == Change::Type::Put;
    result.push_back(is_put ? "put " + change.item.key + "=" + change.item.value + at
                            : "delete " + change.item.key + at);
  }
  return result;
}

// A store to test and its surroundings.
class StoreHarness {
 public:
  virtual ~StoreHarness() = default;
  virtual asio::io_context& io() = 0;
  virtual Store& store() = 0;           // holds nothing at first
  virtual Limits limits() const = 0;    // of the store
  virtual Revision origin() const = 0;  // of the store before the test's first commit
  virtual WallTime now() const = 0;     // the store's idea of the time
  // An expiry that far ahead is surely not reached by a few calls.
  virtual std::chrono::milliseconds short_life() const = 0;
  // Time passes until `when`, and what has expired by then is deleted, now or soon after.
  virtual void pass(WallTime when) = 0;
};
using MakeStoreHarness = std::function<std::unique_ptr<StoreHarness>()>;

class StoreContract : public testing::TestWithParam<MakeStoreHarness> {
 protected:
  template <typename T>
  T run(asio::awaitable<T> work) {
    return store::run(harness_->io(), std::move(work));
  }

  Store& store() { return harness_->store(); }
  Revision origin() { return harness_->origin(); }

  Result<Item> get(std::string key) { return run(store().get(std::move(key))); }
  Result<RangeResult> range(KeyRange range, size_t limit = 0) {
    return run(store().range(request(std::move(range), limit)));
  }
  Result<Revision> try_commit(std::vector<Operation> operations) {
    return run(store().commit(std::move(operations)));
  }
  // A commit that must succeed.
  Revision commit(std::vector<Operation> operations) {
    const auto revision = try_commit(std::move(operations));
    EXPECT_TRUE(revision.ok()) << revision.status();
    return revision.value_or(0);
  }
  absl::StatusCode code_of(std::vector<Operation> operations) {
    return try_commit(std::move(operations)).status().code();
  }

  // On the loop, where a watch lives: Boost 1.81 would cancel only later what is cancelled
  // elsewhere.
  void close_soon(Watch& watch) {
    asio::post(harness_->io(), [&watch] { watch.close(); });
  }
  Result<std::unique_ptr<Watch>> try_watch(KeyRange range, Revision after) {
    return run(store().watch(std::move(range), after));
  }
  std::unique_ptr<Watch> open_watch(KeyRange range, Revision after) {
    auto opened = try_watch(std::move(range), after);
    HF_CHECK(opened.ok(), opened.status().ToString());
    return *std::move(opened);
  }
  // The next `count` changes or more, in as many batches as they come.
  std::vector<Change> collect(Watch& watch, size_t count) {
    std::vector<Change> seen;
    while (seen.size() < count) {
      auto batch = run(watch.next());
      EXPECT_TRUE(batch.ok()) << batch.status();
      if (!batch.ok()) break;
      EXPECT_FALSE(batch->empty());
      std::ranges::move(*batch, std::back_inserter(seen));
    }
    return seen;
  }
  std::vector<std::string> collect_texts(Watch& watch, size_t count) {
    return texts(collect(watch, count), origin());
  }

  std::unique_ptr<StoreHarness> harness_ = GetParam()();
};

}  // namespace holdfast::store
