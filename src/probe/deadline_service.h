// Deadlines of many probes with one timer: most probes end long before theirs, so a deadline costs
// no more than an entry in a table.
#pragma once

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <memory>

namespace holdfast::probe {

namespace asio = boost::asio;

using SteadyTime = std::chrono::steady_clock::time_point;

// What ends when its time is over.
class Expiring {
 public:
  virtual ~Expiring() = default;
  virtual void expire() = 0;
};

// On one loop.
class Deadlines {
 public:
  explicit Deadlines(const asio::any_io_executor& loop);
  ~Deadlines();
  Deadlines(const Deadlines&) = delete;
  Deadlines& operator=(const Deadlines&) = delete;

  // expire() is called once, from the loop, unless it is removed before.
  void add(SteadyTime deadline, Expiring& expiring);
  // Also after it expired.
  void remove(SteadyTime deadline, Expiring& expiring);

 private:
  struct State;
  std::shared_ptr<State> state_;  // tidy: shared, the timer's handler may come after the owner
};

}  // namespace holdfast::probe
