// What another process uses, as the kernel counts it.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <thread>

namespace holdfast::bench {

double cpu_seconds(pid_t pid);  // user and system, since it started
double memory_mib(pid_t pid);   // resident now

// The most memory a process had while this lives, asked every few milliseconds.
class PeakMemory {
 public:
  explicit PeakMemory(pid_t pid);
  ~PeakMemory();
  double mib() const { return peak_; }

 private:
  pid_t pid_;
  std::atomic<double> peak_;
  std::atomic<bool> ending_ = false;
  std::jthread sampler_;
};

}  // namespace holdfast::bench
