// What must hold between keys: timings that fit each other, listeners that can be reached, halves
// of a pair that need the other half.
#pragma once

#include <set>
#include <string_view>
#include <vector>

#include "config/load.h"

namespace holdfast::config {

// `bad` are keys whose values are wrong in themselves: what is said about them is left out.
std::vector<Problem> check_relations(const Loaded& loaded, const std::set<std::string_view>& bad);

}  // namespace holdfast::config
