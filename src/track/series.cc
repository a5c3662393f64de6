#include "track/series.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace holdfast::track {
namespace {

using Weighed = std::pair<uint64_t, metrics::Labels>;

// Heaviest first; of equals, the lower labels.
void sort_by_weight(std::vector<Weighed>& rows) {
  std::ranges::sort(rows, [](const Weighed& left, const Weighed& right) {
    return left.first != right.first ? left.first > right.first : left.second < right.second;
  });
}

}  // namespace

void SeriesChoice::update(const Rows& rows) {
  std::vector<Weighed> in;
  std::vector<Weighed> out;
  std::map<metrics::Labels, uint64_t> opened;
  for (const auto& [key, row] : rows) {
    const auto before = opened_.find(key);
    const uint64_t known = before == opened_.end() ? 0 : before->second;
    const uint64_t since = row.opened > known ? row.opened - known : 0;
    (shown_.contains(key) ? in : out).emplace_back(row.active + since, key);
    opened[key] = row.opened;
  }
  opened_ = std::move(opened);
  sort_by_weight(in);
  sort_by_weight(out);
  for (const Weighed& candidate : out) {
    if (in.size() < most_) {
      in.push_back(candidate);
      if (in.size() == most_) sort_by_weight(in);
      continue;
    }
    if (in.empty() || in.back().first * 2 >= candidate.first) break;
    in.back() = candidate;
    replaced_total_ += 1;
    sort_by_weight(in);
  }
  shown_.clear();
  for (const Weighed& row : in) shown_.insert(row.second);
  hidden_ = rows.size() - shown_.size();
}

}  // namespace holdfast::track
