// Pods as nobody writes them, for tests: every seed gives the same one.
#pragma once

#include <boost/json/value.hpp>

#include <cstdint>

namespace holdfast::inject {

// A pod, or a workload with one, that may have any mixture of probes, hooks, annotations, ports and
// fields that nobody knows. Some of them are refused.
boost::json::value random_document(uint32_t seed);

}  // namespace holdfast::inject
