#include "track/track_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::track {
namespace {

using testing::HasSubstr;
using testing::Not;

class TrackMetricsTest : public testing::Test {
 protected:
  TrackMetricsTest() {
    for (uint16_t id = 1; id <= 3; ++id) {
      const Address address = *parse_address("10.0.0." + std::to_string(id));
      names.services[id] = make_vip({.address = address, .port = 80}, Protocol::Tcp);
    }
  }
  void show(const std::map<Key, TotalsRow>& rows) { shown.show(rows, names); }

  metrics::Registry registry{{}};
  TrackMetrics shown{registry, 2};
  TrackMetrics::Names names{.src_zone = "a", .dst_zones = {{1, "a"}, {2, "b"}}};
};

TEST_F(TrackMetricsTest, ARowHasTheLabelsOfTheSeed) {
  show({{make_key(1, 2), {.opened = 456, .closed = 123, .active = 333}}});

  EXPECT_THAT(registry.expose(),
              HasSubstr("holdfast_opened_connections_total{dst_zone=\"b\",src_zone=\"a\","
                        "svc_ip=\"10.0.0.1\",svc_port=\"80\",svc_proto=\"tcp\"} 456\n"));
  EXPECT_THAT(registry.expose(), HasSubstr("svc_proto=\"tcp\"} 123\n"));
  EXPECT_THAT(registry.expose(), HasSubstr("svc_proto=\"tcp\"} 333\n"));
}

TEST_F(TrackMetricsTest, CountersShowTotalsHoweverOftenTheyAreTold) {
  show({{make_key(1, 2), {.opened = 5}}});
  show({{make_key(1, 2), {.opened = 5}}});
  show({{make_key(1, 2), {.opened = 7, .failures = {.refused = 2}}}});

  EXPECT_THAT(registry.expose(), HasSubstr("svc_proto=\"tcp\"} 7\n"));
  EXPECT_THAT(registry.expose(), HasSubstr("{cause=\"refused\",dst_zone=\"b\""));
  EXPECT_THAT(registry.expose(), Not(HasSubstr("gave_up")));
}

TEST_F(TrackMetricsTest, BeyondTheLimitTheQuietestIsHiddenAndTheHiddenAreCounted) {
  const std::map<Key, TotalsRow> rows = {{make_key(1, 1), {.opened = 1, .active = 1}},
                                         {make_key(2, 1), {.opened = 50, .active = 50}},
                                         {make_key(3, 1), {.opened = 70, .active = 70}}};
  show(rows);

  EXPECT_THAT(registry.expose(), Not(HasSubstr("10.0.0.1")));
  EXPECT_THAT(registry.expose(), HasSubstr("10.0.0.3"));
  EXPECT_THAT(registry.expose(), HasSubstr("holdfast_track_hidden_rows 1\n"));
}

TEST_F(TrackMetricsTest, ASeriesThatComesBackShowsItsWholeTotal) {
  show({{make_key(1, 1), {.opened = 5}}});
  show({});
  EXPECT_THAT(registry.expose(), Not(HasSubstr("10.0.0.1")));

  show({{make_key(1, 1), {.opened = 9}}});

  EXPECT_THAT(registry.expose(), HasSubstr("svc_proto=\"tcp\"} 9\n"));
}

TEST_F(TrackMetricsTest, ANumberGivenToAnotherServiceIsAnotherSeries) {
  show({{make_key(1, 1), {.opened = 5}}});
  names.services[1] = names.services[3];

  show({{make_key(1, 1), {.opened = 2}}});

  EXPECT_THAT(registry.expose(), Not(HasSubstr("10.0.0.1")));
  EXPECT_THAT(registry.expose(), HasSubstr("svc_ip=\"10.0.0.3\",svc_port=\"80\","
                                           "svc_proto=\"tcp\"} 2\n"));
}

TEST_F(TrackMetricsTest, RowsWithoutANameAreNotShown) {
  show({{make_key(9, 1), {.opened = 5}}, {make_key(1, 7), {.opened = 5}}});

  EXPECT_THAT(registry.expose(), Not(HasSubstr("holdfast_opened_connections_total{")));
}

TEST_F(TrackMetricsTest, DriftAndTheKernelsOwnNumbersAreShown) {
  shown.show(std::vector{Drift{.key = make_key(1, 1), .active = 10}});
  shown.show(hf_stats{.spilled = 4});
  shown.show(hf_stats{.spilled = 6});

  EXPECT_THAT(registry.expose(),
              HasSubstr("holdfast_track_drift_connections_total{kind=\"missed_ends\"} 10\n"));
  EXPECT_THAT(registry.expose(), HasSubstr("holdfast_track_spilled_total 6\n"));
}

}  // namespace
}  // namespace holdfast::track
