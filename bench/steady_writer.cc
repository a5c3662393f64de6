#include "steady_writer.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "support/eventually.h"

namespace holdfast::bench {

using namespace std::chrono_literals;

SteadyWriter::SteadyWriter(std::function<Status()> write, Duration pause)
    : write_(std::move(write)), pause_(pause), thread_([this] { work(); }) {}

SteadyWriter::~SteadyWriter() {
  running_ = false;
  thread_.join();
}

void SteadyWriter::work() {
  while (running_) {
    const Time called = clock_.now();
    const Status status = write_();
    if (status.ok()) {
      const std::lock_guard lock(mutex_);
      acknowledged_.push_back({.called = called, .returned = clock_.now()});
      ++in_turn_;
    } else {
      const std::lock_guard lock(mutex_);
      last_failure_ = status.ToString();
      in_turn_ = 0;
      ++failures_;
    }
    test::let_pass(pause_);
  }
}

void SteadyWriter::expect_steady(size_t writes) {
  in_turn_ = 0;
  HF_CHECK(test::eventually([&] { return in_turn_ >= writes; }, 60s),
           "writes go on: " + last_failure());
}

SteadyWriter::Struck SteadyWriter::strike(const std::function<void()>& action) {
  {
    const std::lock_guard lock(mutex_);
    acknowledged_.clear();
  }
  Struck struck{.begun = clock_.now(), .writes = {}};
  action();
  const Time over = clock_.now();
  const auto is_served = [&] {
    const std::lock_guard lock(mutex_);
    const auto first = std::ranges::find_if(
        acknowledged_, [&](const Acknowledged& write) { return write.called >= over; });
    if (first == acknowledged_.end()) return false;
    struck.writes.assign(acknowledged_.begin(), first + 1);
    return true;
  };
  HF_CHECK(test::eventually(is_served, 60s), "writes go on after a fault: " + last_failure());
  return struck;
}

Duration SteadyWriter::time_without(const std::function<void()>& fault) {
  const Struck struck = strike(fault);
  return struck.writes.back().returned - struck.begun;
}

Duration SteadyWriter::longest_between(const std::function<void()>& action) {
  const Struck struck = strike(action);
  Time before = struck.begun;
  Duration longest{0};
  for (const Acknowledged& write : struck.writes) {
    longest = std::max(longest, write.returned - before);
    before = write.returned;
  }
  return longest;
}

std::string SteadyWriter::last_failure() const {
  const std::lock_guard lock(mutex_);
  return last_failure_;
}

void Gaps::add(Duration gap) {
  ms.push_back(std::chrono::duration<double, std::milli>(gap).count());
}

double Gaps::percentile(double share) const {
  HF_CHECK(!ms.empty(), "something was measured");
  std::vector<double> sorted = ms;
  std::ranges::sort(sorted);
  const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::clamp<size_t>(rank, 1, sorted.size()) - 1];
}

}  // namespace holdfast::bench
