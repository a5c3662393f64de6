// What fill-then-spill is measured with: an application in each zone that counts who is connected,
// and clients that come at a rate, hold their connections, and note which zone served them.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"

namespace holdfast::test {

// Says one byte to whoever connects, and stays until the client leaves.
class ZoneApp {
 public:
  ZoneApp(char zone, uint64_t capacity);
  ~ZoneApp();
  ZoneApp(const ZoneApp&) = delete;
  ZoneApp& operator=(const ZoneApp&) = delete;

  uint16_t port() const { return port_; }
  uint64_t accepted() const { return accepted_; }
  uint64_t beyond() const { return beyond_; }  // accepted while more than the capacity were there
  uint64_t peak() const { return peak_; }
  uint64_t active() const { return active_; }

 private:
  void run();
  void accept_one();
  void leave(int socket);

  const char zone_;
  const uint64_t capacity_;
  int listener_ = -1;
  int events_ = -1;
  uint16_t port_ = 0;
  std::atomic<uint64_t> accepted_ = 0;
  std::atomic<uint64_t> beyond_ = 0;
  std::atomic<uint64_t> peak_ = 0;
  std::atomic<uint64_t> active_ = 0;
  std::atomic<bool> ending_ = false;
  std::thread thread_;
};

// Clients of one proxy's port.
class SpillClients {
 public:
  SpillClients(uint16_t port, Duration hold);
  ~SpillClients();
  SpillClients(const SpillClients&) = delete;
  SpillClients& operator=(const SpillClients&) = delete;

  // Connections a second from now on, evenly spaced, at most so many.
  void set_rate(double per_second, int64_t most = INT64_MAX) {
    left_ = most;
    rate_ = per_second;
  }

  // What came since the last call: connections by the zone that served them; '-' are those that
  // were closed without a byte.
  std::map<char, uint64_t> take();

 private:
  struct Open {
    int socket = -1;
    Time ends{};  // when it is closed: held for its time since it was served, or given up
    bool served = false;
  };
  void run();
  void begin(Time now);
  void note(char zone);
  void read_first(int events);
  void end_due(Time now);

  const uint16_t port_;
  const Duration hold_;
  SystemClock clock_;
  std::atomic<double> rate_ = 0;
  std::atomic<int64_t> left_ = INT64_MAX;
  std::atomic<bool> ending_ = false;
  std::mutex mutex_;
  std::map<char, uint64_t> counts_;
  int events_ = -1;
  std::map<int, Open> open_;
  std::multimap<Time, int> ends_;
  std::thread thread_;
};

// Times that a share of connections, second by second, turned back; changes that may be chance are
// none.
int reversals(const std::vector<double>& shares);

}  // namespace holdfast::test
