// One folder of pins has one agent: two would write over each other, and count all of it twice.
#pragma once

#include <string>

#include "base/result.h"
#include "track/bpf_handles.h"

namespace holdfast::track {

// A lock on the folder itself. The kernel gives it back with the process, however that ends, so a
// next life has it at once and nothing is left to be cleaned up.
class PinsClaim {
 public:
  // HF8114: another has it. HF8108: the folder cannot be opened. What is had already is kept.
  Status take(const std::string& directory);
  void give_back() { folder_ = Descriptor(); }

 private:
  Descriptor folder_;
};

}  // namespace holdfast::track
