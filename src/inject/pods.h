// Where the pods of a Kubernetes document are: itself, the template of a workload, the items of a
// List.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "inject/json_edit.h"

namespace holdfast::inject {

constexpr size_t kMaxListDepth = 4;

struct PodPlace {
  json::object* pod;  // has metadata and spec
  std::string owner;  // "Deployment web", for people
  std::string path;   // "spec.template.", what stands before the names of its members
};

// In the order of the document; none if it is of a kind that has no pods. HF7104, with the place:
// what is edited or looked through is not of the shape that Kubernetes gives it.
Result<std::vector<PodPlace>> find_pods(json::value& document);

}  // namespace holdfast::inject
