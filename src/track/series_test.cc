#include "track/series.h"

#include <gtest/gtest.h>

namespace holdfast::track {
namespace {

metrics::Labels row(size_t number) {
  return {{"row", std::to_string(1000 + number)}};
}

SeriesChoice::Rows rows(const std::vector<uint32_t>& active) {
  SeriesChoice::Rows all;
  for (size_t i = 0; i < active.size(); ++i) all[row(i)] = {.active = active[i]};
  return all;
}

TEST(SeriesChoice, EverythingIsShownWhileThereIsRoom) {
  SeriesChoice choice(3);

  choice.update(rows({0, 0, 5}));

  EXPECT_EQ(choice.shown().size(), 3U);
  EXPECT_EQ(choice.hidden(), 0U);
}

TEST(SeriesChoice, BeyondThatTheBusiestAreShownAndTheRestIsCounted) {
  std::vector<uint32_t> active;
  for (uint32_t i = 0; i < 750; ++i) active.push_back(i);
  SeriesChoice choice(300);

  choice.update(rows(active));

  EXPECT_EQ(choice.shown().size(), 300U);
  EXPECT_EQ(choice.hidden(), 450U);
  EXPECT_TRUE(choice.shown().contains(row(450)));
  EXPECT_FALSE(choice.shown().contains(row(449)));
}

TEST(SeriesChoice, OneThatIsShownStaysUntilAnotherIsTwiceAsBusy) {
  SeriesChoice choice(1);
  choice.update(rows({10, 0}));

  choice.update(rows({10, 15}));
  EXPECT_TRUE(choice.shown().contains(row(0)));

  choice.update(rows({10, 100}));
  EXPECT_TRUE(choice.shown().contains(row(1)));
  EXPECT_EQ(choice.replaced_total(), 1U);
}

TEST(SeriesChoice, AQuietConnectionThatIsAliveStaysShown) {
  SeriesChoice choice(2);
  for (int i = 0; i < 100; ++i) choice.update(rows({1, 1}));

  EXPECT_EQ(choice.shown().size(), 2U);
}

TEST(SeriesChoice, NothingIsShownIfNothingMayBe) {
  SeriesChoice choice(0);

  choice.update(rows({5}));

  EXPECT_EQ(choice.hidden(), 1U);
}

}  // namespace
}  // namespace holdfast::track
