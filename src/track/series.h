// Which rows become series of metrics when there are more than may be shown: those with the most
// connections. One that is shown stays until another is clearly busier, so that series do not come
// and go; how many rows are hidden is a number of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>

#include "metrics/metrics.h"

namespace holdfast::track {

// How busy a row is.
struct SeriesLoad {
  uint64_t active = 0;
  uint64_t opened = 0;  // in all
};

class SeriesChoice {
 public:
  using Rows = std::map<metrics::Labels, SeriesLoad>;

  explicit SeriesChoice(size_t most) : most_(most) {}

  // After each reading. A row's weight is its connections now and those opened since the reading
  // before; a hidden row takes the place of a shown one that has less than half of its weight.
  void update(const Rows& rows);

  const std::set<metrics::Labels>& shown() const { return shown_; }
  size_t hidden() const { return hidden_; }                    // now
  uint64_t replaced_total() const { return replaced_total_; }  // shown ones that had to go

 private:
  size_t most_;
  std::set<metrics::Labels> shown_;
  size_t hidden_ = 0;
  uint64_t replaced_total_ = 0;
  std::map<metrics::Labels, uint64_t> opened_;  // at the last reading
};

}  // namespace holdfast::track
