#include "inject/line_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace holdfast::inject {
namespace {

using std::string_view;

constexpr size_t kContext = 3;
// A table of so many cells at most; beyond it what differs is shown as replaced as a whole.
constexpr size_t kMaxCells = 16'000'000;

std::vector<string_view> lines_of(string_view text) {
  std::vector<string_view> out;
  while (!text.empty()) {
    const size_t size = std::min(text.find('\n'), text.size() - 1) + 1;
    out.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return out;
}

struct Step {
  char sign;  // ' ', '-' or '+'
  string_view line;
};

using Lines = std::vector<string_view>;

// The middle of two texts, by their longest common subsequence.
void add_middle(const Lines& before, const Lines& after, std::vector<Step>& out) {
  const size_t rows = before.size();
  const size_t columns = after.size();
  const bool fits = rows * columns <= kMaxCells;
  std::vector<uint32_t> common(fits ? (rows + 1) * (columns + 1) : 0, 0);
  const auto cell = [&](size_t i, size_t j) -> uint32_t& { return common[i * (columns + 1) + j]; };
  for (size_t i = fits ? rows : 0; i-- > 0;) {
    for (size_t j = columns; j-- > 0;) {
      cell(i, j) =
          before[i] == after[j] ? cell(i + 1, j + 1) + 1 : std::max(cell(i + 1, j), cell(i, j + 1));
    }
  }
  size_t i = 0;
  size_t j = 0;
  while (fits && i < rows && j < columns) {
    if (before[i] == after[j]) {
      out.push_back({' ', before[i++]});
      ++j;
    } else if (cell(i + 1, j) >= cell(i, j + 1)) {
      out.push_back({'-', before[i++]});
    } else {
      out.push_back({'+', after[j++]});
    }
  }
  while (i < rows) out.push_back({'-', before[i++]});
  while (j < columns) out.push_back({'+', after[j++]});
}

std::vector<Step> steps_of(Lines before, Lines after) {
  size_t head = 0;
  while (head < before.size() && head < after.size() && before[head] == after[head]) ++head;
  size_t tail = 0;
  const size_t most = std::min(before.size(), after.size()) - head;
  while (tail < most && before[before.size() - 1 - tail] == after[after.size() - 1 - tail]) ++tail;
  std::vector<Step> out;
  for (size_t i = 0; i < head; ++i) out.push_back({' ', before[i]});
  const Lines last(before.end() - static_cast<ptrdiff_t>(tail), before.end());
  before.resize(before.size() - tail);
  after.resize(after.size() - tail);
  before.erase(before.begin(), before.begin() + static_cast<ptrdiff_t>(head));
  after.erase(after.begin(), after.begin() + static_cast<ptrdiff_t>(head));
  add_middle(before, after, out);
  for (const string_view line : last) out.push_back({' ', line});
  return out;
}

struct Place {
  size_t before = 1;
  size_t after = 1;
};

void count(const Step& step, Place& place) {
  if (step.sign != '+') ++place.before;
  if (step.sign != '-') ++place.after;
}

// "3,7", or the line before it if there are none.
std::string range(size_t first, size_t size) {
  if (size == 1) return std::to_string(first);
  return fmt::format("{},{}", size == 0 ? first - 1 : first, size);
}

std::string hunk(const std::vector<Step>& steps, size_t first, size_t last, const Place& start) {
  Place end = start;
  std::string body;
  for (size_t i = first; i < last; ++i) {
    count(steps[i], end);
    body += fmt::format("{}{}", steps[i].sign, steps[i].line);
    if (!steps[i].line.ends_with('\n')) body += "\n\\ No newline at end of file\n";
  }
  return fmt::format("@@ -{} +{} @@\n{}", range(start.before, end.before - start.before),
                     range(start.after, end.after - start.after), body);
}

}  // namespace

std::string unified_diff(string_view before, string_view after, const DiffNames& names) {
  if (before == after) return "";
  const std::vector<Step> steps = steps_of(lines_of(before), lines_of(after));
  std::string out = fmt::format("--- {}\n+++ {}\n", names.before, names.after);
  Place place;
  size_t at = 0;
  while (at < steps.size()) {
    const auto changes = [](const Step& step) { return step.sign != ' '; };
    const auto from = steps.begin() + static_cast<ptrdiff_t>(at);
    const auto next = std::find_if(from, steps.end(), changes);
    if (next == steps.end()) break;
    const auto change = static_cast<size_t>(next - steps.begin());
    const size_t first = std::max(at, change - std::min(change, kContext));
    size_t last = change;  // behind the last change of the hunk
    for (size_t i = change; i < steps.size() && i <= last + 2 * kContext; ++i) {
      if (changes(steps[i])) last = i + 1;
    }
    const size_t end = std::min(last + kContext, steps.size());
    for (; at < first; ++at) count(steps[at], place);
    out += hunk(steps, first, end, place);
    for (; at < end; ++at) count(steps[at], place);
  }
  return out;
}

}  // namespace holdfast::inject
