#include "probe/handler_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::probe {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

const Probe kDatabase{.action = TcpSocket{}, .port = 5432};
const Probe kCache{.action = TcpSocket{}, .port = 6379};

Registry handler_metrics_registry_of(const std::vector<Probe>& probes) {
  Registry registry;
  for (const Probe& probe : probes) EXPECT_TRUE(registry.add(probe).ok());
  return registry;
}

class HandlerMetricsTest : public testing::Test {
 protected:
  void count_all(const std::string& path, const Probe& probe) {
    handler_.count_outcome(path, probe, {.healthy = true}, 1ms);
    handler_.count_outcome(path, probe, {}, 1ms);
    handler_.count_outcome(path, probe, {.error = true}, 1ms);
    handler_.count_cancelled(path);
  }

  metrics::Registry metrics_{{.version = "test"}};
  HandlerMetrics handler_{metrics_};
};

TEST_F(HandlerMetricsTest, EachProbeHasASeriesPerOutcome) {
  handler_.use(handler_metrics_registry_of({kDatabase}));

  count_all("/tcp/5432", kDatabase);

  const std::string text = metrics_.expose();
  for (const char* outcome : {"healthy", "failed", "error", "cancelled"}) {
    EXPECT_THAT(text, HasSubstr("holdfast_probe_outcomes_total{outcome=\"" + std::string(outcome) +
                                "\",probe=\"/tcp/5432\"} 1"));
  }
  EXPECT_THAT(text, HasSubstr("holdfast_probe_registered 1"));
}

TEST_F(HandlerMetricsTest, SeriesOfProbesThatAreGoneGoWithThem) {
  handler_.use(handler_metrics_registry_of({kDatabase, kCache}));
  count_all("/tcp/5432", kDatabase);
  count_all("/tcp/6379", kCache);

  handler_.use(handler_metrics_registry_of({kCache}));
  handler_.count_cancelled("/tcp/5432");  // it ran meanwhile

  const std::string text = metrics_.expose();
  EXPECT_THAT(text, Not(HasSubstr("/tcp/5432")));
  EXPECT_THAT(text, HasSubstr("{outcome=\"failed\",probe=\"/tcp/6379\"} 1"));
}

TEST_F(HandlerMetricsTest, AProbeThatComesBackStartsAnew) {
  handler_.use(handler_metrics_registry_of({kDatabase}));
  count_all("/tcp/5432", kDatabase);
  handler_.use({});

  handler_.use(handler_metrics_registry_of({kDatabase}));
  handler_.count_outcome("/tcp/5432", kDatabase, {}, 1ms);

  EXPECT_THAT(metrics_.expose(), HasSubstr("{outcome=\"failed\",probe=\"/tcp/5432\"} 1"));
}

}  // namespace
}  // namespace holdfast::probe
