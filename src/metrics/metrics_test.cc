#include "metrics/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace holdfast::metrics {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

const Description kOpened = {.name = "holdfast_opened_total", .help = "Connections opened."};
const Description kActive = {.name = "holdfast_active", .help = "Connections open now."};
const Description kDuration = {.name = "holdfast_commit_duration_seconds",
                               .help = "How long a commit takes."};
constexpr std::string_view kDropped = "holdfast_metrics_series_dropped_total";

TEST(Metrics, CountersAndGaugesShowWhatWasCounted) {
  Registry registry({.version = "1.2.3"});
  Counter opened = registry.counter(kOpened).with({{"zone", "a"}});
  Gauge active = registry.gauge(kActive).with();

  opened.add();
  opened.add(2);
  active.set(10);
  active.add(-4);

  EXPECT_EQ(opened.value(), 3);
  EXPECT_EQ(active.value(), 6);
  EXPECT_EQ(registry.expose(),
            "# HELP holdfast_active Connections open now.\n"
            "# TYPE holdfast_active gauge\n"
            "holdfast_active 6\n"
            "# HELP holdfast_build_info The running program; its value is always 1.\n"
            "# TYPE holdfast_build_info gauge\n"
            "holdfast_build_info{version=\"1.2.3\"} 1\n"
            "# HELP holdfast_opened_total Connections opened.\n"
            "# TYPE holdfast_opened_total counter\n"
            "holdfast_opened_total{zone=\"a\"} 3\n");
}

TEST(Metrics, SameLabelsSameSeriesAndOtherLabelsAnother) {
  Registry registry({});

  registry.counter(kOpened).with({{"src", "a"}, {"dst", "b"}}).add();
  registry.counter(kOpened).with({{"dst", "b"}, {"src", "a"}}).add();
  registry.counter(kOpened).with({{"src", "b"}, {"dst", "a"}}).add();

  EXPECT_THAT(registry.expose(), HasSubstr("holdfast_opened_total{dst=\"a\",src=\"b\"} 1\n"
                                           "holdfast_opened_total{dst=\"b\",src=\"a\"} 2\n"));
}

TEST(Metrics, LabelValuesAreEscaped) {
  Registry registry({});

  registry.counter(kOpened).with({{"zone", "a\"b\\c\nd é €\xff"}}).add();

  EXPECT_THAT(registry.expose(),
              HasSubstr("holdfast_opened_total{zone=\"a\\\"b\\\\c\\nd é €\xef\xbf\xbd\"} 1\n"));
}

TEST(Metrics, LargeCountsKeepEveryDigit) {
  Registry registry({});

  registry.counter(kOpened).with().add(123'456'789'012);

  EXPECT_THAT(registry.expose(), HasSubstr("holdfast_opened_total 123456789012\n"));
}

TEST(Metrics, FullFamilyDropsNewSeriesAndSaysSo) {
  Registry registry({.max_series = 2});
  Family<Counter>& opened = registry.counter(kOpened);
  Counter kept = opened.with({{"zone", "a"}});
  opened.with({{"zone", "b"}}).add();
  EXPECT_THAT(registry.expose(), Not(HasSubstr(kDropped)));

  opened.with({{"zone", "c"}}).add();
  opened.with({{"zone", "d"}}).add();
  opened.with({{"zone", "a"}}).add();

  EXPECT_EQ(kept.value(), 1) << "series that were there first go on";
  EXPECT_THAT(registry.expose(), EndsWith("holdfast_opened_total{zone=\"a\"} 1\n"
                                          "holdfast_opened_total{zone=\"b\"} 1\n"));
  EXPECT_THAT(registry.expose(),
              HasSubstr("holdfast_metrics_series_dropped_total{family=\"holdfast_opened_total\"} "
                        "2\n"));
}

TEST(Metrics, ARemovedSeriesIsNotShownMakesRoomAndStartsAnew) {
  Registry registry({.max_series = 1});
  Family<Counter>& family = registry.counter(kOpened);
  family.with({{"zone", "a"}}).add(5);

  family.remove({{"zone", "a"}});
  family.remove({{"zone", "never there"}});

  EXPECT_THAT(registry.expose(), Not(HasSubstr("zone=\"a\"")));
  family.with({{"zone", "b"}}).add(2);
  EXPECT_THAT(registry.expose(), HasSubstr("holdfast_opened_total{zone=\"b\"} 2"));
  EXPECT_THAT(registry.expose(), Not(HasSubstr(kDropped)));
  family.remove({{"zone", "b"}});
  EXPECT_EQ(family.with({{"zone", "a"}}).value(), 0);
}

TEST(Metrics, FamiliesAreInOrderOfName) {
  Registry registry({.max_series = 1});
  for (const char* zone : {"a", "b"}) registry.counter(kOpened).with({{"zone", zone}});
  registry.gauge(kActive).with();

  const std::string page = registry.expose();

  EXPECT_LT(page.find("holdfast_active"), page.find("holdfast_build_info"));
  EXPECT_LT(page.find("holdfast_build_info"), page.find(kDropped));
  EXPECT_LT(page.find(kDropped), page.find("# HELP holdfast_opened_total"));
}

TEST(Metrics, FullGaugesAndHistogramsTakeValuesTheyDoNotShow) {
  Registry registry({.max_series = 1});
  registry.histogram(kDuration, {1}).with({{"store", "memory"}});
  registry.gauge(kActive).with({{"zone", "a"}});

  registry.histogram(kDuration, {1}).with({{"store", "sqlite"}}).observe(2);
  registry.gauge(kActive).with({{"zone", "b"}}).set(7);

  EXPECT_THAT(registry.expose(), Not(HasSubstr("sqlite")));
  EXPECT_THAT(registry.expose(), Not(HasSubstr("zone=\"b\"")));
}

TEST(Metrics, HistogramBucketsCountUpToAndIncludingTheirBound) {
  Registry registry({});
  Histogram duration = registry.histogram(kDuration, {0.1, 1}).with();

  for (const double seconds : {0.05, 0.1, 0.5, 3.0}) duration.observe(seconds);

  EXPECT_THAT(registry.expose(),
              HasSubstr("holdfast_commit_duration_seconds_count 4\n"
                        "holdfast_commit_duration_seconds_sum 3.65\n"
                        "holdfast_commit_duration_seconds_bucket{le=\"0.1\"} 2\n"
                        "holdfast_commit_duration_seconds_bucket{le=\"1\"} 3\n"
                        "holdfast_commit_duration_seconds_bucket{le=\"+Inf\"} 4\n"));
}

TEST(Metrics, RegistriesAreIndependent) {
  Registry first({.version = "1"}), second({.version = "2"});

  first.counter(kOpened).with().add();

  EXPECT_THAT(first.expose(), HasSubstr("holdfast_opened_total 1\n"));
  EXPECT_THAT(second.expose(), Not(HasSubstr("holdfast_opened_total")));
  EXPECT_THAT(second.expose(), HasSubstr("{version=\"2\"}"));
}

TEST(Metrics, ThreadsLoseNoIncrement) {
  Registry registry({});
  const auto work = [&] {
    for (int i = 0; i < 1000; ++i) {
      registry.counter(kOpened).with({{"zone", std::to_string(i % 3)}}).add();
    }
    registry.expose();
  };

  std::thread other(work);
  work();
  other.join();

  double sum = 0;
  for (const char* zone : {"0", "1", "2"}) {
    sum += registry.counter(kOpened).with({{"zone", zone}}).value();
  }
  EXPECT_EQ(sum, 2000);
}

using MetricsDeathTest = ::testing::Test;

TEST(MetricsDeathTest, MisuseIsABug) {
  Registry registry({});
  registry.gauge(kActive).with({{"zone", "a"}});

  EXPECT_DEATH(registry.gauge({.name = "active", .help = "x"}), "start it with holdfast_");
  EXPECT_DEATH(registry.gauge(kActive).with({{"site", "a"}}), "same label names");
  EXPECT_DEATH(registry.gauge({.name = kActive.name, .help = "x"}), "same help");
  EXPECT_DEATH(registry.histogram(kActive, {1}), "one type");
  EXPECT_DEATH(registry.histogram(kDuration, {2, 1}), "rising");
  EXPECT_DEATH(registry.gauge(kDuration).with({{"le", "a"}}), "adds it itself");
  EXPECT_DEATH(registry.counter(kOpened).with().add(-1), "only rises");
}

}  // namespace
}  // namespace holdfast::metrics
