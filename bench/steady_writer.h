// A client that writes all along, one write after the other, and how long it had to do without:
// from a fault to the end of the next write that was begun after it and acknowledged.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace holdfast::bench {

class SteadyWriter {
 public:
  // `write` blocks until its answer and is called on one thread.
  explicit SteadyWriter(std::function<Status()> write,
                        Duration pause = std::chrono::milliseconds(2));
  ~SteadyWriter();
  SteadyWriter(const SteadyWriter&) = delete;
  SteadyWriter& operator=(const SteadyWriter&) = delete;

  // Aborts if so many writes are not acknowledged in turn within a minute.
  void expect_steady(size_t writes);
  // From the call of `fault` on. Aborts if it takes more than a minute.
  Duration time_without(const std::function<void()>& fault);
  // The longest time without one while `action` runs, up to the first that was begun after it.
  Duration longest_between(const std::function<void()>& action);
  size_t failures() const { return failures_; }
  std::string last_failure() const;

 private:
  struct Acknowledged {
    Time called;
    Time returned;
  };
  struct Struck {
    Time begun;
    std::vector<Acknowledged> writes;  // since then; the last was begun after it was over
  };

  void work();
  Struck strike(const std::function<void()>& action);

  std::function<Status()> write_;
  const Duration pause_;
  const SystemClock clock_;
  std::atomic<bool> running_ = true;
  std::atomic<size_t> in_turn_ = 0;  // acknowledged since the last failure
  std::atomic<size_t> failures_ = 0;
  mutable std::mutex mutex_;
  std::vector<Acknowledged> acknowledged_;  // since the last fault began
  std::string last_failure_;
  std::thread thread_;
};

// Of all rounds; milliseconds.
struct Gaps {
  std::vector<double> ms{};
  void add(Duration gap);
  double percentile(double share) const;
};

}  // namespace holdfast::bench
