#include "cache/copy_service.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <optional>

#include "base/check.h"
#include "cache/cache_fixture.h"
#include "support/temp_dir.h"

namespace holdfast::cache {
namespace {

template <typename T>
T wait(asio::awaitable<T> work) {
  asio::io_context loop;
  std::optional<T> result;
  asio::co_spawn(loop, std::move(work), [&](const std::exception_ptr& thrown, T got) {
    HF_CHECK(thrown == nullptr, "nothing is thrown");
    result.emplace(std::move(got));
  });
  loop.run();
  return *std::move(result);
}

TEST(CopyService, WhatIsSavedOfAKindIsLoadedAgain) {
  const test::TempDir dir;
  CopyService copy({.folder = dir.file("data"), .owner = {}, .limits = {}});
  KindCopy agents{.kind = Kind::Agent,
                  .with_secrets = true,
                  .revision = 10,
                  .newest = 15,
                  .as_of = WallTime(std::chrono::seconds(7)),
                  .items = {}};
  agents.items.put(std::make_shared<const v1::Resource>(item(Kind::Agent, "edge-1", 14)));

  ASSERT_TRUE(wait(copy.save({agents}, WallTime(std::chrono::seconds(9)))).ok());
  const auto loaded = wait(copy.load());

  ASSERT_TRUE(loaded.ok()) << loaded.status();
  ASSERT_EQ(loaded->size(), 1u);
  const KindCopy& again = loaded->front();
  EXPECT_EQ(again.kind, Kind::Agent);
  EXPECT_TRUE(again.with_secrets);
  EXPECT_EQ(again.revision, 10);
  EXPECT_EQ(again.newest, 15);
  EXPECT_EQ(again.as_of, agents.as_of);
  EXPECT_EQ(contents(again.items), contents(agents.items));
}

}  // namespace
}  // namespace holdfast::cache
