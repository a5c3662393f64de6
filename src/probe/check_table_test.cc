#include "probe/check_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace holdfast::probe {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

const Outcome kWell{.healthy = true, .code = 200};
const Outcome kSick{.healthy = false, .code = 500, .reason = "HTTP 500"};

CheckSpec check_table_spec(const std::string& name, uint16_t port = 80) {
  return {.name = name,
          .service = name.substr(0, name.find('/')),
          .probe = {.port = port},
          .times = {.period = 1s}};
}

class CheckTableTest : public testing::Test {
 protected:
  void set(const std::vector<CheckSpec>& specs, const std::vector<std::string>& exposed) {
    table_.set(specs, exposed, now_);
  }
  // Goes on until something is to be probed.
  std::vector<CheckTable::Start> next() {
    now_ = *table_.next_deadline();
    return table_.on_tick(now_).start;
  }
  // Every probe of the next while has this outcome; the services that turned.
  std::vector<std::string> run(Duration duration, const Outcome& outcome) {
    std::vector<std::string> changed;
    const Time end = now_ + duration;
    while (table_.next_deadline() && *table_.next_deadline() < end) {
      for (const CheckTable::Start& start : next()) {
        const CheckTable::Actions actions = table_.on_outcome(start.id, outcome, now_);
        changed.insert(changed.end(), actions.changed.begin(), actions.changed.end());
      }
    }
    now_ = end;
    return changed;
  }
  bool healthy(const std::string& service) const { return table_.verdict(service).healthy; }

  Time now_ = Time(1h);
  CheckTable table_{1};
};

TEST_F(CheckTableTest, AServiceWithoutACheckIsHealthy) {
  set({}, {"web"});

  EXPECT_TRUE(healthy("web"));
  EXPECT_FALSE(table_.next_deadline());
}

TEST_F(CheckTableTest, AServiceIsHealthyWhileAllOfItsChecksSaySo) {
  set({check_table_spec("api", 80), check_table_spec("api/metrics", 90)}, {"api"});
  EXPECT_EQ(table_.verdict("api").reason, "not checked yet");

  for (int i = 0; i < 2; ++i) {
    for (const CheckTable::Start& start : next()) {
      EXPECT_FALSE(healthy("api"));
      table_.on_outcome(start.id, kWell, now_);
    }
  }
  EXPECT_TRUE(healthy("api"));

  for (int i = 0; i < 6; ++i) {
    for (const CheckTable::Start& start : next()) {
      table_.on_outcome(start.id, start.probe.port == 90 ? kSick : kWell, now_);
    }
  }
  EXPECT_EQ(table_.verdict("api"), (Verdict{.healthy = false, .reason = "api/metrics: HTTP 500"}));
}

TEST_F(CheckTableTest, OneServicesFailureIsNotAnothers) {
  set({check_table_spec("db", 1), check_table_spec("web", 2)}, {"db", "web"});
  for (int i = 0; i < 8; ++i) {
    for (const CheckTable::Start& start : next()) {
      table_.on_outcome(start.id, start.probe.port == 1 ? kSick : kWell, now_);
    }
  }

  EXPECT_FALSE(healthy("db"));
  EXPECT_TRUE(healthy("web"));
}

TEST_F(CheckTableTest, AReloadThatAddsACheckTakesNothingAwayThatWorks) {
  set({}, {"web"});

  set({check_table_spec("web")}, {"web"});
  EXPECT_TRUE(healthy("web")) << "until its check says otherwise";

  EXPECT_THAT(run(5s, kSick), ElementsAre("web"));
  EXPECT_FALSE(healthy("web"));
}

TEST_F(CheckTableTest, AServiceThatIsNewInAReloadHasToShowThatItWorks) {
  set({check_table_spec("web")}, {"web"});
  run(3s, kWell);

  set({check_table_spec("web"), check_table_spec("db")}, {"db", "web"});

  EXPECT_TRUE(healthy("web"));
  EXPECT_FALSE(healthy("db"));
}

TEST_F(CheckTableTest, ACheckThatChangesKeepsItsVerdictUntilItHasANewOne) {
  set({check_table_spec("web", 80), check_table_spec("db", 90)}, {"db", "web"});
  for (int i = 0; i < 8; ++i) {
    for (const CheckTable::Start& start : next()) {
      table_.on_outcome(start.id, start.probe.port == 90 ? kSick : kWell, now_);
    }
  }

  set({check_table_spec("web", 81), check_table_spec("db", 91)}, {"db", "web"});

  EXPECT_TRUE(healthy("web"));
  EXPECT_EQ(table_.verdict("db").reason, "HTTP 500");
  EXPECT_THAT(run(2s, kWell), ElementsAre("db"));
}

TEST_F(CheckTableTest, ACheckThatStaysIsNotDisturbedByAReload) {
  set({check_table_spec("web")}, {"web"});
  const std::vector<CheckTable::Start> before = next();

  set({check_table_spec("web"), check_table_spec("db")}, {"db", "web"});
  EXPECT_THAT(table_.on_outcome(before[0].id, kWell, now_).changed, ElementsAre("web"));
}

TEST_F(CheckTableTest, AServiceWhoseCheckGoesIsHealthy) {
  set({check_table_spec("web")}, {"web"});
  run(5s, kSick);
  ASSERT_FALSE(healthy("web"));

  set({}, {"web"});

  EXPECT_TRUE(healthy("web"));
}

TEST_F(CheckTableTest, OutcomesOfProbesThatBeganBeforeAReloadDoNotCount) {
  set({check_table_spec("web", 80)}, {"web"});
  const std::vector<CheckTable::Start> before = next();
  ASSERT_EQ(before.size(), 1u);

  set({check_table_spec("web", 81)}, {"web"});
  EXPECT_THAT(table_.on_outcome(before[0].id, kWell, now_).changed, IsEmpty());
  EXPECT_FALSE(healthy("web"));

  set({}, {});
  EXPECT_THAT(table_.on_outcome(before[0].id, kWell, now_).changed, IsEmpty());
}

TEST_F(CheckTableTest, AnErrorStartsTheSameProbeAgain) {
  set({check_table_spec("web", 80)}, {"web"});
  const std::vector<CheckTable::Start> first = next();

  const CheckTable::Actions actions =
      table_.on_outcome(first[0].id, {.error = true, .reason = "cut short"}, now_);

  ASSERT_EQ(actions.start.size(), 1u);
  EXPECT_EQ(actions.start[0].id, first[0].id);
  EXPECT_EQ(actions.start[0].probe, first[0].probe);
}

TEST_F(CheckTableTest, CountsOfACheckThatChangesOrComesBackGoOn) {
  set({check_table_spec("web", 80)}, {"web"});
  run(5s, kWell);
  const uint64_t before = table_.rows()[0].stats.succeeded;

  set({check_table_spec("web", 81)}, {"web"});
  EXPECT_EQ(table_.rows()[0].stats.succeeded, before);
  set({}, {"web"});
  set({check_table_spec("web", 81)}, {"web"});

  EXPECT_EQ(table_.rows()[0].stats.succeeded, before);
  EXPECT_GE(before, 3u);
}

TEST_F(CheckTableTest, RowsSayHowEachCheckStands) {
  set({check_table_spec("api"), check_table_spec("api/metrics")}, {"api"});
  run(5s, kWell);

  const std::vector<CheckTable::Row> rows = table_.rows();

  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].name, "api");
  EXPECT_EQ(rows[1].name, "api/metrics");
  EXPECT_EQ(rows[1].service, "api");
  EXPECT_GE(rows[1].stats.succeeded, 3u);
}

}  // namespace
}  // namespace holdfast::probe
