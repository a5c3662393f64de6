// The search behind check_history(), for the calls of one key: it tries orders, one call after the
// other, and goes back when an answer does not fit. Where it has been (what is done, and what is
// there then) it does not go again.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "support/linear.h"

namespace holdfast::test {

// What is there before the first call.
enum class Beginning : uint8_t { Nothing, Anything };

class LinearSearch {
 public:
  // Requires: the calls are of one key.
  LinearSearch(const std::vector<RegisterCall>& calls, Beginning beginning);

  Verdict::Kind run(uint64_t steps);

 private:
  // What is there: a value by its number, nothing, or whatever one likes.
  using Content = uint32_t;
  static constexpr Content kNothing = 0;
  static constexpr Content kAnything = 1;
  static constexpr Content kFirstValue = 2;
  static constexpr Content kImpossible = UINT32_MAX;

  struct Step {
    Act act = Act::Read;
    Ending ending = Ending::Ok;
    Content value = kNothing;
    Content expected = kNothing;
    Time called{};
    Time returned{};
  };
  // One call that was given its place, and what else could have had that place.
  struct Frame {
    Content before = kNothing;
    size_t first_open_before = 0;
    uint32_t chosen = 0;
    std::vector<uint32_t> alternatives{};  // the next to be tried is the last
  };

  void number_values(const std::vector<RegisterCall>& calls);
  void forget_what_nobody_saw();
  void end_what_was_seen();
  size_t writers_of(Content value) const;
  // What is there after it; kImpossible if its answer would be wrong.
  static Content apply(const Step& step, Content content);
  // Whether someone else must still find what is there now, and nobody would make it again.
  bool leaves_someone_behind(const Step& step) const;
  void set_done(uint32_t step, bool done);
  std::vector<uint32_t> candidates() const;
  // Gives the next possible of `alternatives` its place.
  bool advance(std::vector<uint32_t> alternatives);
  bool go_back();
  bool seen_before();
  bool all_done() const { return first_open_ == closed_; }

  std::vector<Step> steps_;  // those with an end, by their beginning; then the open ones
  size_t closed_ = 0;        // how many have an end
  Content values_ = kFirstValue;
  Content content_ = kNothing;
  std::vector<bool> done_;
  std::vector<uint32_t> needs_;   // by value: how many that are not done must find it
  std::vector<uint32_t> makers_;  // and how many may make it
  size_t first_open_ = 0;         // of those with an end, the first that is not done
  std::vector<Frame> frames_;
  std::unordered_set<std::string> been_;
};

}  // namespace holdfast::test
