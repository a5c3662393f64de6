// Load reports to a management server that is not ours: Python's gRPC, which reads field numbers.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "api/load_stats_service.h"
#include "integration/loop_driver.h"
#include "integration/lrs_server.h"
#include "net/task_group.h"
#include "support/eventually.h"
#include "support/temp_dir.h"
#include "support/test_certificate.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::Contains;

class LoadStatsServiceTest : public testing::Test {
 protected:
  LoadStatsServiceTest() {
    dealer_.emplace(route::DealerOptions{}, clock_.now());
    report_ = {.holder = "proxy/one", .zone = "a", .boot = 1};
    report_.pools = {{.pool = {"web", "a"}}, {.pool = {"web", "b"}}, {.pool = {"db", "a"}}};
    count();
  }
  ~LoadStatsServiceTest() override { driver_.wait(tasks_.join()); }

  void start_service(std::optional<rpc::TlsOptions> tls = std::nullopt) {
    service_.emplace(driver_.loop().get_executor(), clock_, metrics_,
                     api::LoadStatsOptions{.server = server_.address(),
                                           .tls = std::move(tls),
                                           .node = "controller/one",
                                           .zone = "z1",
                                           .backoff = {.first = 50ms, .cap = 200ms},
                                           .write_timeout = write_timeout_},
                     [this] { return dealer_ ? &*dealer_ : nullptr; });
    tasks_.spawn(service_->run());
  }
  // As the holder has counted.
  void count() {
    ++report_.number;
    dealer_->on_report(report_, clock_.now());
  }
  void open(size_t pool, uint64_t opened, uint64_t refused = 0) {
    report_.pools[pool].opened += opened;
    report_.pools[pool].active += opened;
    report_.pools[pool].failed.refused += refused;
    count();
  }

  bool until(const std::function<bool()>& so) { return driver_.until(so); }
  double number(const std::string& name) {
    const std::string text = metric(name);
    return text.empty() ? 0 : std::stod(text);
  }
  std::string metric(const std::string& name) {
    std::istringstream text(metrics_.expose());
    for (std::string line; std::getline(text, line);) {
      if (line.starts_with(name + " ")) return line.substr(name.size() + 1);
    }
    return "";
  }

  LoopDriver driver_;
  SystemClock clock_;
  metrics::Registry metrics_{{}};
  TempDir dir_;
  LrsServer server_;
  Duration write_timeout_ = 1s;
  route::LoadReport report_;
  std::optional<route::Dealer> dealer_;
  std::optional<api::LoadStatsService> service_;
  net::TaskGroup tasks_{driver_.loop().get_executor()};
};

TEST_F(LoadStatsServiceTest, AForeignServerReadsConnectionsByZone) {
  open(0, 100);
  server_.start({"*"});
  start_service();
  ASSERT_TRUE(until([&] { return metric("holdfast_load_stats_asked") == "1"; }));
  EXPECT_THAT(server_.lines(), Contains("node controller/one z1"));

  open(0, 5, 2);
  open(1, 3);

  ASSERT_TRUE(until([&] { return server_.sum("web", "b").opened == 3; }));
  EXPECT_EQ(server_.sum("web", "a").active, 105u);
  EXPECT_EQ(server_.sum("web", "a").opened, 5u) << "not what was before it asked";
  EXPECT_EQ(server_.sum("web", "a").failed, 2u);
  EXPECT_EQ(server_.sum("db", "a").opened, 0u);
  for (const LrsServer::Stats& one : server_.stats()) {
    EXPECT_GE(one.milliseconds, 1000u);
    EXPECT_LT(one.milliseconds, 10'000u);
  }
}

TEST_F(LoadStatsServiceTest, NothingIsLostBetweenReportsAndStreams) {
  server_.start({"web", "--reports=1"});  // each stream ends with its first report
  start_service();
  ASSERT_TRUE(until([&] { return metric("holdfast_load_stats_asked") == "1"; }));

  uint64_t opened = 0;
  ASSERT_TRUE(until([&] {
    open(0, 1);
    ++opened;
    return server_.stats().size() >= 6;
  }));
  ASSERT_TRUE(until([&] { return server_.sum("web", "a").opened == opened; }));

  EXPECT_EQ(server_.sum("web", "a").active, opened);
  EXPECT_EQ(server_.sum("db", "a").opened, 0u);
  EXPECT_GE(number("holdfast_load_stats_failures_total"), 2);
}

TEST_F(LoadStatsServiceTest, AServerThatComesLaterOrDiesIsFoundAgain) {
  start_service();
  ASSERT_TRUE(until([&] { return metric("holdfast_load_stats_failures_total") != "0"; }));
  server_.start({"*"});
  ASSERT_TRUE(until([&] { return !server_.stats().empty(); }));
  server_.kill();
  open(0, 4);
  const size_t before = server_.lines().size();

  server_.start({"*"});

  ASSERT_TRUE(until([&] { return server_.lines().size() > before + 1; }));
  ASSERT_TRUE(until([&] { return server_.sum("web", "a").opened == 4; }));
}

TEST_F(LoadStatsServiceTest, WhoDoesNotDealTellsNothing) {
  dealer_.reset();
  server_.start({"*"});
  write_timeout_ = 30s;
  start_service();
  driver_.run_for(2500ms);
  EXPECT_THAT(server_.lines(), testing::IsEmpty());

  dealer_.emplace(route::DealerOptions{}, clock_.now());
  ASSERT_TRUE(until([&] { return metric("holdfast_load_stats_asked") == "1"; }));
  dealer_.reset();
  EXPECT_TRUE(until([&] { return metric("holdfast_load_stats_asked") == "0"; }));
  const size_t heard = server_.lines().size();
  driver_.run_for(2500ms);
  EXPECT_EQ(server_.lines().size(), heard);
  EXPECT_EQ(number("holdfast_load_stats_failures_total"), 0) << "the server did nothing wrong";
}

TEST_F(LoadStatsServiceTest, TheServerIsVerifiedIfThereIsAnAuthority) {
  const TestCertificate own = make_test_certificate("foreign");
  const TestCertificate other = make_test_certificate("other");
  std::ofstream(dir_.file("certificate.pem")) << own.certificate_pem;
  std::ofstream(dir_.file("key.pem")) << own.private_key_pem;
  server_.start({"*", "--tls=" + dir_.file("certificate.pem") + "," + dir_.file("key.pem")});
  start_service(rpc::TlsOptions{.ca_pem = other.certificate_pem});
  ASSERT_TRUE(until([&] { return number("holdfast_load_stats_failures_total") >= 3; }));
  EXPECT_THAT(server_.lines(), testing::IsEmpty());

  driver_.wait(tasks_.join());
  start_service(rpc::TlsOptions{.ca_pem = own.certificate_pem});
  EXPECT_TRUE(until([&] { return !server_.stats().empty(); }));
}

// Another dealer counts from zero: what it counts is told, and nothing of the one before again.
TEST_F(LoadStatsServiceTest, AnotherDealerGoesOnWhereTheFirstEnded) {
  server_.start({"*"});
  start_service();
  ASSERT_TRUE(until([&] { return metric("holdfast_load_stats_asked") == "1"; }));
  open(0, 5);
  ASSERT_TRUE(until([&] { return server_.sum("web", "a").opened == 5; }));

  dealer_.emplace(route::DealerOptions{}, clock_.now());
  count();  // what a holder had counted before is not this dealer's
  open(0, 40);

  ASSERT_TRUE(until([&] { return server_.sum("web", "a").opened >= 45; }));
  driver_.run_for(1500ms);
  EXPECT_EQ(server_.sum("web", "a").opened, 45u);
  EXPECT_EQ(server_.sum("web", "a").active, 45u);
}

TEST_F(LoadStatsServiceTest, OfTooManyNamesSomeAreToldAndTheRestCounted) {
  server_.start({"web", "--names=20000"});
  start_service();
  ASSERT_TRUE(until([&] { return metric("holdfast_load_stats_asked") == "1"; }));
  open(0, 3);

  EXPECT_TRUE(until([&] { return server_.sum("web", "a").opened == 3; }));
  EXPECT_EQ(number("holdfast_load_stats_names_left_out_total"), 10'001);
}

// Nothing of it is kept, and the server is tried again.
TEST_F(LoadStatsServiceTest, AMillionNamesAndGarbageAreRefused) {
  for (const char* how : {"--names=1000000", "--garbage=1"}) {
    const double before = number("holdfast_load_stats_failures_total");
    server_.start({"web", how});
    start_service();
    ASSERT_TRUE(until([&] { return server_.lines().size() >= 3; })) << how;  // introductions
    ASSERT_TRUE(until([&] { return number("holdfast_load_stats_failures_total") >= before + 2; }));

    EXPECT_NE(metric("holdfast_load_stats_asked"), "1") << how;
    EXPECT_THAT(server_.stats(), testing::IsEmpty()) << how;
    driver_.wait(tasks_.join());
    server_.kill();
    server_.forget();
  }
}

TEST_F(LoadStatsServiceTest, WhoAsksAThousandTimesIsToldAsOftenAsItAskedFor) {
  server_.start({"*", "--times=1000", "--seconds=0"});
  start_service();
  ASSERT_TRUE(until([&] { return metric("holdfast_load_stats_asked") == "1"; }));
  open(0, 3);
  const Time began = clock_.now();

  ASSERT_TRUE(until([&] { return number("holdfast_load_stats_reports_total") >= 3; }));

  EXPECT_GE(clock_.now() - began, 2s);
  EXPECT_LT(clock_.now() - began, 10s);
  EXPECT_TRUE(until([&] { return server_.sum("web", "a").opened == 3; }));
}

TEST_F(LoadStatsServiceTest, AServerThatDoesNotReadIsLeftAndAskedAgain) {
  write_timeout_ = 6s;
  for (size_t i = 0; i < route::LoadStats::kMaxLocalities; ++i) {
    report_.pools.push_back({.pool = {fmt::format("service-{:055}", i), std::string(130, 'z')}});
  }
  count();
  server_.start({"*", "--deaf=1"});
  start_service();
  ASSERT_TRUE(until([&] { return metric("holdfast_load_stats_asked") == "1"; }));
  const double before = number("holdfast_load_stats_failures_total");

  // Buffers take some reports first.
  ASSERT_TRUE(
      driver_.until([&] { return number("holdfast_load_stats_failures_total") > before; }, 60s));

  EXPECT_TRUE(until([&] { return server_.lines().size() >= 2; })) << "a second introduction";
  const Time began = clock_.now();
  driver_.wait(tasks_.join());
  EXPECT_LT(clock_.now() - began, 4s) << "and does not hold up the end";
}

// Also just when what it waited for has come.
TEST_F(LoadStatsServiceTest, ItCanBeEndedAtAnyMoment) {
  write_timeout_ = 30s;
  server_.start({"*"});
  start_service();
  ASSERT_TRUE(until([&] { return metric("holdfast_load_stats_asked") == "1"; }));
  driver_.wait(tasks_.join());

  for (int turns = 0; turns < 60; ++turns) {
    start_service();
    // So many things happen first.
    driver_.loop().restart();
    for (int i = 0; i < turns && driver_.loop().run_one_for(30ms) > 0; ++i) continue;
    // And some that nobody has looked at yet.
    if (turns % 2 == 0) let_pass(5ms);
    const Time began = clock_.now();
    driver_.wait(tasks_.join());
    ASSERT_LT(clock_.now() - began, 10s) << turns;
  }
}

// What failed is among the opened and the closed of every holder, and is told once.
TEST(LoadStatsWords, ARequestIsAConnectionThatEndedWellOrFailed) {
  const auto told = [](const route::LocalityLoad& load) {
    const route::ClusterLoad cluster{.service = "web", .localities = {load}};
    return api::to_proto({cluster}).cluster_stats(0).upstream_locality_stats(0);
  };

  const auto some = told({.zone = "a", .active = 4, .opened = 10, .closed = 7, .failed = 3});
  EXPECT_EQ(some.total_issued_requests(), 10U);
  EXPECT_EQ(some.total_successful_requests(), 4U);
  EXPECT_EQ(some.total_error_requests(), 3U);
  EXPECT_EQ(some.total_requests_in_progress(), 4U);
  EXPECT_EQ(some.total_new_connections(), 10U);
  EXPECT_EQ(some.total_fail_connections(), 3U);
  EXPECT_EQ(some.total_active_connections(), 4U);

  EXPECT_EQ(told({.closed = 2, .failed = 3}).total_successful_requests(), 0U);
}

TEST(LoadStatsWords, AnIntervalMayBeAnything) {
  envoy::service::load_stats::v3::LoadStatsResponse response;
  const auto read = [&](int64_t seconds, int32_t nanos) {
    response.mutable_load_reporting_interval()->set_seconds(seconds);
    response.mutable_load_reporting_interval()->set_nanos(nanos);
    return api::from_proto(response).interval;
  };

  EXPECT_EQ(api::from_proto(response).interval, 0s);
  EXPECT_EQ(read(7, 500'000'000), 7500ms);
  EXPECT_EQ(read(-7, -5), 0s);
  EXPECT_EQ(read(INT64_MIN, INT32_MIN), 0s);
  EXPECT_GE(read(INT64_MAX, INT32_MAX), 1h);
}

}  // namespace
}  // namespace holdfast::test
