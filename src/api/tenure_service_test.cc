#include "api/tenure_service.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <memory>

#include "api/faulty_store_fixture.h"
#include "store/memory_store.h"
#include "store/store_contract_fixture.h"

namespace holdfast::api {
namespace {

using namespace std::chrono_literals;

// Two controllers on one store. Each asks again every few real milliseconds; leases run by a clock
// that moves when a test says so, one for each, so that one can sleep.
class TenureServiceTest : public testing::Test {
 protected:
  struct One {
    explicit One(TenureServiceTest& test, const std::string& name, bool shared = true)
        : store(test.store_),
          service(test.io_.get_executor(), store, clock,
                  {.tenure = {.name = name, .ttl = 50ms}, .shared = shared}) {}
    ManualClock clock;
    FaultyStore store;
    TenureService service;
  };
  std::unique_ptr<One> make(const std::string& name, bool shared = true) {
    auto one = std::make_unique<One>(*this, name, shared);
    one->service.start();
    return one;
  }
  void stop(One& one) {
    bool stopped = false;
    asio::co_spawn(io_, one.service.stop(), [&](const std::exception_ptr&) { stopped = true; });
    ASSERT_TRUE(until([&] { return stopped; }));
  }
  bool until(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + 30s;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      io_.restart();
      io_.run_one_until(std::chrono::steady_clock::now() + 5ms);
    }
    return true;
  }
  void settle() {
    io_.restart();
    io_.run_for(80ms);
  }
  Status write_guarded(One& one, const std::vector<store::Operation>& checks) {
    std::vector<store::Operation> operations = checks;
    operations.push_back({.key = "/agent/x", .value = "offline"});
    return store::run(io_, one.store.commit(std::move(operations))).status();
  }

  asio::io_context io_;
  store::MemoryStore store_{io_.get_executor(), store::MemoryStoreOptions{}};
};

TEST_F(TenureServiceTest, OnAStoreOfItsOwnItIsAlwaysHeldAndNothingIsWritten) {
  const auto one = make("a", /*shared=*/false);
  settle();

  EXPECT_TRUE(one->service.held());
  EXPECT_TRUE(one->service.checks()->empty());
  EXPECT_EQ(one->service.holder(), "a");
  const auto range = store::run(io_, store_.range({store::prefix_range("/"), 0}));
  EXPECT_TRUE(range->items.empty());
  stop(*one);
}

TEST_F(TenureServiceTest, OneOfTwoHoldsAndTheOtherKnowsWho) {
  const auto a = make("a");
  ASSERT_TRUE(until([&] { return a->service.held(); }));
  const auto b = make("b");

  ASSERT_TRUE(until([&] { return b->service.holder() == "a"; }));
  settle();

  EXPECT_TRUE(a->service.held());
  EXPECT_FALSE(b->service.held());
  EXPECT_FALSE(b->service.checks().has_value());
  stop(*a);
  stop(*b);
}

TEST_F(TenureServiceTest, AHolderThatStopsLeavesThemToTheOtherWithoutAWait) {
  const auto a = make("a");
  ASSERT_TRUE(until([&] { return a->service.held(); }));
  const auto b = make("b");

  stop(*a);

  EXPECT_TRUE(until([&] { return b->service.held(); })) << "its clock stands still";
  stop(*b);
}

TEST_F(TenureServiceTest, WhatAHolderThatSleptWritesIsRefusedByTheStore) {
  const auto a = make("a");
  ASSERT_TRUE(until([&] { return a->service.held(); }));
  const auto late = *a->service.checks();  // decided just before it froze
  a->store.failure = absl::UnavailableError("frozen");
  const auto b = make("b");
  ASSERT_TRUE(until([&] { return b->service.holder() == "a"; }));

  b->clock.advance(60ms);
  ASSERT_TRUE(until([&] { return b->service.held(); }));
  a->store.failure = absl::OkStatus();

  EXPECT_TRUE(absl::IsAborted(write_guarded(*a, late)));
  EXPECT_TRUE(write_guarded(*b, *b->service.checks()).ok());
  EXPECT_TRUE(until([&] { return a->service.holder() == "b"; }));
  EXPECT_FALSE(a->service.held());
  stop(*a);
  stop(*b);
}

TEST_F(TenureServiceTest, AHolderWithoutItsStoreStopsByItselfBeforeAnotherBegins) {
  const auto a = make("a");
  ASSERT_TRUE(until([&] { return a->service.held(); }));
  a->store.failure = absl::UnavailableError("no etcd");
  settle();
  ASSERT_TRUE(a->service.held());

  a->clock.advance(34ms);

  EXPECT_FALSE(a->service.held());
  EXPECT_FALSE(a->service.checks().has_value());
  a->store.failure = absl::OkStatus();
  EXPECT_TRUE(until([&] { return a->service.held(); })) << "nobody took them meanwhile";
  stop(*a);
}

}  // namespace
}  // namespace holdfast::api
