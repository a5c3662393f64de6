#include "track/totals.h"

namespace holdfast::track {
namespace {

// Unsigned subtraction is right over any wrap.
void add_counts(uint64_t& total, uint32_t now, uint32_t last) {
  total += uint32_t{now - last};
}

void add_counts(FailureTotals& totals, const hf_failures& now, const hf_failures& last) {
  add_counts(totals.refused, now.refused, last.refused);
  add_counts(totals.timed_out, now.timed_out, last.timed_out);
  add_counts(totals.reset, now.reset, last.reset);
  add_counts(totals.gave_up, now.gave_up, last.gave_up);
  add_counts(totals.cut, now.cut, last.cut);
}

}  // namespace

uint32_t active(const hf_counts& counts) {
  const auto difference = static_cast<int32_t>(counts.opened - counts.closed);
  return difference < 0 ? 0 : static_cast<uint32_t>(difference);
}

void Totals::update(std::span<const CounterSample> samples) {
  std::map<Key, CounterSample> seen;
  for (const CounterSample& sample : samples) {
    const CounterSample& last = last_[sample.key];
    TotalsRow& row = rows_[sample.key];
    add_counts(row.opened, sample.counts.opened, last.counts.opened);
    add_counts(row.closed, sample.counts.closed, last.counts.closed);
    add_counts(row.failures, sample.failures, last.failures);
    row.active = active(sample.counts);
    seen[sample.key] = sample;
  }
  last_ = std::move(seen);
  std::erase_if(rows_, [this](const auto& row) { return !last_.contains(row.first); });
}

void Totals::forget(const Key& key) {
  last_.erase(key);
  rows_.erase(key);
}

std::set<Key> busy_keys(std::span<const CounterSample> samples) {
  std::set<Key> busy;
  for (const CounterSample& sample : samples) {
    if (sample.counts.opened != sample.counts.closed || sample.reserved != 0) {
      busy.insert(sample.key);
    }
  }
  return busy;
}

}  // namespace holdfast::track
