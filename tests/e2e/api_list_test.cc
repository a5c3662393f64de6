// List over gRPC: whole, in order, and a place to watch from.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>

#include "e2e/api_client.h"
#include "e2e/cluster_process.h"
#include "support/eventually.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using grpc::StatusCode;
using testing::ElementsAre;

std::vector<std::string> names(const v1::ListResponse& page) {
  std::vector<std::string> all;
  for (const v1::Resource& resource : page.resources()) all.push_back(resource.metadata().name());
  return all;
}

struct Listing {
  std::vector<std::string> names;
  int64_t revision = 0;
  size_t pages = 0;
};

Listing list_all(ApiClient& client, ListOptions options) {
  Listing listing;
  do {
    const v1::ListResponse page = client.list_page(options);
    for (const std::string& name : names(page)) listing.names.push_back(name);
    if (listing.pages == 0) listing.revision = page.revision();
    EXPECT_EQ(page.revision(), listing.revision) << "every page names the first one's revision";
    listing.pages += 1;
    options.page_token = page.next_page_token();
  } while (!options.page_token.empty());
  return listing;
}

class ApiList : public testing::Test {
 protected:
  ClusterProcess controller_{without_rate_limit()};
  ApiClient client_{controller_.tcp_server(), controller_.admin()};
};

TEST_F(ApiList, PagesAreWholeAndInOrderWhileOthersWriteAndAWatchFromThereMissesNothing) {
  constexpr size_t kStable = 3'000;
  ASSERT_EQ(client_.upsert_many(kStable,
                                [](size_t i) { return service(fmt::format("stable-{:05}", i)); }),
            0U);
  std::atomic<bool> listed = false;
  std::atomic<size_t> written = 0;
  std::thread writer([&] {
    ApiClient other(controller_.unix_server());
    while (!listed) {
      other.upsert_many(20, [&](size_t i) {
        return service(fmt::format("{}-{}", i % 2 == 0 ? "early" : "zlate", written + i));
      });
      written += 20;
    }
  });
  EXPECT_TRUE(eventually([&] { return written > 0; }, 10s));

  const Listing listing = list_all(client_, {.kind = "service", .page_size = 50});
  const int64_t after_the_pages = client_.list_page({"service"}).revision();
  WatchReader watch(client_, watch_request({"service"}, listing.revision));
  const bool started = watch.wait_for(1);
  listed = true;
  writer.join();

  ASSERT_TRUE(started) << watch.end().error_message();
  EXPECT_GT(after_the_pages, listing.revision) << "the writer wrote between the pages";
  ASSERT_TRUE(client_.upsert(service("zzz-last")).status.ok());
  const auto has_seen_the_last = [&] {
    const std::vector<SeenEvent> seen = watch.changes();
    return !seen.empty() && seen.back().name == "zzz-last";
  };
  ASSERT_TRUE(eventually(has_seen_the_last, 10s)) << watch.end().error_message();
  EXPECT_TRUE(std::ranges::is_sorted(listing.names));
  EXPECT_EQ(std::ranges::adjacent_find(listing.names), listing.names.end());
  EXPECT_EQ(std::ranges::count_if(listing.names,
                                  [](const auto& name) { return name.starts_with("stable-"); }),
            static_cast<long>(kStable));
  std::set<std::string> known(listing.names.begin(), listing.names.end());
  for (const SeenEvent& event : watch.changes()) known.insert(event.name);
  const Listing after = list_all(client_, {.kind = "service", .page_size = 1000});
  EXPECT_EQ(known, std::set<std::string>(after.names.begin(), after.names.end()));
}

TEST_F(ApiList, WhatWasJustListedCanBeWatchedFrom) {
  std::atomic<bool> done = false;
  std::thread writer([&] {
    ApiClient other(controller_.unix_server());
    while (!done) other.upsert_many(100, [](size_t i) { return service(fmt::format("s{}", i)); });
  });
  std::vector<std::string> refused;
  for (int round = 0; round < 200; ++round) {
    const int64_t revision = client_.list_page({.kind = "service", .page_size = 1}).revision();
    WatchReader watch(client_, watch_request({"service"}, revision));
    if (!watch.wait_for(1)) refused.push_back(watch.end().error_message());
  }
  done = true;
  writer.join();

  EXPECT_THAT(refused, ElementsAre());
}

TEST_F(ApiList, LabelsFilterAcrossPages) {
  ASSERT_EQ(client_.upsert_many(900,
                                [](size_t i) {
                                  return service(fmt::format("s{:03}", i),
                                                 {{"tier", i % 300 == 7 ? "front" : "back"},
                                                  {"env", i < 600 ? "prod" : "test"}});
                                }),
            0U);

  const Listing front = list_all(
      client_, {.kind = "service", .labels = {{"tier", "front"}, {"env", "prod"}}, .page_size = 1});
  const Listing none =
      list_all(client_, {.kind = "service", .labels = {{"tier", "middle"}}, .page_size = 1});

  EXPECT_THAT(front.names, ElementsAre("s007", "s307"));
  EXPECT_THAT(none.names, ElementsAre());
}

TEST_F(ApiList, ATokenNobodyGaveOutIsRefused) {
  for (const std::string& token :
       {std::string("x"), std::string("1"), std::string("-5:web"), std::string("007:web"),
        std::string("1:a\0b", 5), std::string(100'000, '9')}) {
    const grpc::Status status = client_.list_status({.kind = "service", .page_token = token});
    EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT) << token.substr(0, 20);
  }
  EXPECT_EQ(client_.list_status({.kind = "gateway"}).error_code(), StatusCode::UNIMPLEMENTED);
}

TEST_F(ApiList, NamesThatCannotBeAreRefused) {
  for (const std::string& name :
       {std::string("a/b"), std::string("../user/ann"), std::string("a\0b", 3), std::string(""),
        std::string(5'000, 'x')}) {
    EXPECT_EQ(client_.get("service", name).status.error_code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(client_.remove("service", name).status.error_code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(client_.upsert(service(name)).status.error_code(), StatusCode::INVALID_ARGUMENT);
  }
}

}  // namespace
}  // namespace holdfast::test
