// What operators see of the files of lost histories, and that nobody waits while one is read.
#include "api/divergence_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <future>

#include "base/check.h"
#include "base/reason.h"
#include "ha/quarantine_loader.h"
#include "resource/registry.h"
#include "store/memory_store.h"
#include "support/temp_dir.h"

namespace holdfast::api {
namespace {

using resource::Kind;

store::Entry entry(store::Revision revision, Kind kind, const std::string& name) {
  store::Change change;
  change.item.key = resource::store_key(kind, name);
  change.item.value = resource::make_resource(kind, name).SerializeAsString();
  change.item.revision = revision;
  return {.head = {2, revision, 1}, .changes = {change}};
}

class DivergenceTest : public testing::Test {
 protected:
  DivergenceTest() : audit_(*AuditService::open({}, clock_)) {
    const ha::QuarantineHeader header{
        .node = "ctl-a", .fork = 10, .head = {2, 14, 1}, .winner = 3, .acknowledged = true};
    const ha::Quarantine lost = ha::make_quarantine(
        header, {entry(11, Kind::Service, "one"), entry(12, Kind::Agent, "edge-1"),
                 entry(13, Kind::Service, "two"), entry(14, Kind::Service, "one")});
    const Result<std::string> saved = ha::save_quarantine(folder_, lost.header, ha::to_text(lost));
    HF_CHECK(saved.ok(), saved.status().ToString());
    file_ = *saved;
  }

  template <typename T>
  void start(asio::awaitable<T> work, std::optional<T>& result) {
    asio::co_spawn(loop_, std::move(work), [&](const std::exception_ptr& thrown, T got) {
      HF_CHECK(thrown == nullptr, "nothing is thrown");
      result = std::move(got);
    });
    loop_.restart();
  }
  template <typename T>
  T run(asio::awaitable<T> work) {
    std::optional<T> result;
    start(std::move(work), result);
    loop_.run();
    return *std::move(result);
  }
  v1::GetDivergenceRequest page(uint64_t after, uint32_t limit) {
    v1::GetDivergenceRequest request;
    request.set_file(file_);
    request.set_after(after);
    request.set_limit(limit);
    return request;
  }

  asio::io_context loop_;
  ManualClock clock_;
  test::TempDir temp_;
  std::string folder_ = temp_.file("divergence");
  std::string file_;
  std::unique_ptr<AuditService> audit_;
  store::MemoryStore store_{loop_.get_executor(), {}};
  asio::thread_pool worker_{1};
  DivergenceService service_{{store_, *audit_, worker_, folder_, std::nullopt}};
};

TEST_F(DivergenceTest, AListSaysWhatIsInEachFile) {
  const auto list = run(service_.list({}, {}));
  ASSERT_TRUE(list.ok()) << list.status();
  ASSERT_EQ(list->files_size(), 1);
  EXPECT_EQ(list->files(0).file(), file_);
  EXPECT_EQ(list->files(0).half(), "ctl-a");
  EXPECT_EQ(list->files(0).entries(), 4U);
  EXPECT_EQ(list->files(0).changes(), 3U) << "what nodes said is not counted";
}

// A loop that stands still for as long as it takes to read 64 MiB loses its lease.
TEST_F(DivergenceTest, TheLoopGoesOnWhileAFileIsRead) {
  std::promise<void> busy;
  asio::post(worker_, [wait = busy.get_future().share()] { wait.wait(); });
  std::optional<Result<v1::ListDivergencesResponse>> list;
  std::optional<Result<v1::Divergence>> one;
  start(service_.list({}, {}), list);
  start(service_.get({}, page(0, 0)), one);

  loop_.poll();
  EXPECT_FALSE(list);
  EXPECT_FALSE(one);

  busy.set_value();
  loop_.restart();
  loop_.run();
  ASSERT_TRUE(list && list->ok());
  ASSERT_TRUE(one && one->ok());
  EXPECT_EQ((*one)->changes_size(), 3);
}

TEST_F(DivergenceTest, ChangesComeInPages) {
  const auto first = run(service_.get({}, page(0, 2)));
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_EQ(first->changes_size(), 2);
  EXPECT_EQ(first->changes(0).key(), "service/one");
  EXPECT_EQ(first->changes(1).key(), "service/two");
  EXPECT_EQ(first->next(), 2U);

  const auto second = run(service_.get({}, page(first->next(), 2)));
  ASSERT_TRUE(second.ok()) << second.status();
  ASSERT_EQ(second->changes_size(), 1);
  EXPECT_EQ(second->changes(0).head().revision(), 14);
  EXPECT_EQ(second->next(), 0U);

  EXPECT_EQ(run(service_.get({}, page(~uint64_t{0}, 2)))->changes_size(), 0);
}

TEST_F(DivergenceTest, WhatWasDiscardedIsNotThere) {
  v1::ResolveDivergenceRequest request;
  request.set_file(file_);
  EXPECT_EQ(run(service_.resolve({}, request)).status().code(), absl::StatusCode::kInvalidArgument);
  request.set_way(v1::ResolveDivergenceRequest::WAY_DISCARD);
  ASSERT_TRUE(run(service_.resolve({}, request)).ok());

  const auto gone = run(service_.get({}, page(0, 0)));
  EXPECT_EQ(split_reason(gone.status()).code, "HF4131");
  EXPECT_EQ(run(service_.list({}, {}))->files_size(), 0);
  EXPECT_EQ(service_.count(), 0U);
}

}  // namespace
}  // namespace holdfast::api
