// One client of a pair at work: reads, writes, replaces and removes a few registers without a pause
// worth the name, and notes what became of each call. A register is a service, its content the
// description; every content is written once.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/rng.h"
#include "e2e/pair_door.h"
#include "e2e/pair_history.h"

namespace holdfast::test {

struct PairClientOptions {
  std::string name{};
  std::string half{};  // that it asks; empty: whichever serves
  size_t registers = 10;
  std::string prefix{};  // of their names
  Duration pause = std::chrono::milliseconds(10);
  uint64_t seed = 1;
};

class PairClient {
 public:
  // At work from now on. All of them outlive it.
  PairClient(PairClientOptions options, PairDoor& door, PairHistory& history);
  // Finishes its call.
  ~PairClient();
  PairClient(const PairClient&) = delete;
  PairClient& operator=(const PairClient&) = delete;

  void finish() { running_ = false; }  // does not wait
  void stop();                         // does
  size_t succeeded() const { return succeeded_; }
  size_t failed() const { return failed_; }  // who lost a race did not
  std::string last_failure() const;

  // Reads every register once. Requires: stopped.
  void read_all();

 private:
  struct Found {
    std::string value;
    int64_t revision = 0;
  };

  void work();
  Found read(const std::string& key);
  void write(const std::string& key);
  void replace(const std::string& key);
  void remove(const std::string& key);
  std::string register_name(size_t number) const;
  std::string next_value();
  std::string request_id();
  RegisterCall begin(const std::string& key, Act act) const;
  void note(RegisterCall call, const Status& status, uint64_t epoch);

  const PairClientOptions options_;
  const SystemClock clock_;
  PairDoor& door_;
  PairHistory& history_;
  Rng rng_;
  uint64_t written_ = 0;
  std::atomic<bool> running_ = true;
  std::atomic<size_t> succeeded_ = 0;
  std::atomic<size_t> failed_ = 0;
  mutable std::mutex mutex_;
  std::string last_failure_;
  std::thread thread_;
};

// How a call that got `status` ended, for the checker.
Ending ending_of(Act act, const Status& status);

}  // namespace holdfast::test
