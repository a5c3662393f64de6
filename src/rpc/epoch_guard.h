// The fence of a node: the highest epoch that a pair of controllers has shown it. A controller that
// was the active one, froze, and wakes up when another has taken over still thinks that it decides;
// its epoch is lower, and so nothing it says is acted on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace holdfast::rpc {

class EpochGuard {
 public:
  // Zero: none was ever seen.
  explicit EpochGuard(uint64_t highest) : highest_(highest) {}

  enum class Verdict : uint8_t {
    Known,  // act on it
    Rises,  // write it to disk, then say so with raise(), then act on it
    Over,   // refuse it
  };
  // Zero is a controller without a pair: it is over as soon as a pair was seen.
  Verdict judge(uint64_t epoch) const;
  // Requires: it is on disk, and higher.
  void raise(uint64_t epoch);
  // kUnavailable HF4302 with both; counted.
  Status refuse(uint64_t epoch);

  uint64_t highest() const { return highest_; }
  uint64_t refused() const { return refused_; }

 private:
  uint64_t highest_;
  uint64_t refused_ = 0;
};

// What is on disk: of which cluster, and how high. An epoch of another cluster says nothing here.
struct KeptEpoch {
  std::string cluster{};
  uint64_t epoch = 0;
  bool operator==(const KeptEpoch&) const = default;
};
std::string to_text(const KeptEpoch& kept);
// kDataLoss HF4303: nobody knows what was seen.
Result<KeptEpoch> parse_kept_epoch(std::string_view text);

}  // namespace holdfast::rpc
