#include "bars.h"

#include <algorithm>
#include <cstdio>

namespace holdfast::bench {
namespace {

void print_bar(const std::string& name, double value, double limit, bool ok) {
  std::printf("BAR %s %.3g %.3g %s\n", name.c_str(), value, limit, ok ? "ok" : "short");
}

}  // namespace

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values.at(values.size() / 2);
}

void bar_at_least(const std::string& name, double value, double limit) {
  print_bar(name, value, limit, value >= limit);
}

void bar_at_most(const std::string& name, double value, double limit) {
  print_bar(name, value, limit, value <= limit);
}

}  // namespace holdfast::bench
