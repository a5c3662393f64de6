// What every benchmark ends with: medians, and one line per bar.
//
//   BAR <name> <value> <limit> ok|short
#pragma once

#include <string>
#include <vector>

namespace holdfast::bench {

// Requires: not empty.
double median(std::vector<double> values);

// A value that must be at least, or at most, its limit.
void bar_at_least(const std::string& name, double value, double limit);
void bar_at_most(const std::string& name, double value, double limit);

}  // namespace holdfast::bench
