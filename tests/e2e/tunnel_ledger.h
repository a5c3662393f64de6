// Traffic through tunnels, and the ledger of what became of it. Clients connect to any of the
// proxies, and go to another one if nothing comes back before their first record does; from then on
// a connection that ends before they end it is lost.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"

namespace holdfast::test {

struct LedgerTotals {
  uint64_t opened = 0;    // their first record came back
  uint64_t finished = 0;  // ended as they should
  uint64_t lost = 0;
  uint64_t retried = 0;      // went to another proxy before their first record
  uint64_t unreachable = 0;  // no proxy served them in time
  uint64_t records = 0;      // that came back
  uint64_t bytes_lost = 0;   // sent and never back, whatever became of their connection
  // Of those, what no client was told of: skipped, or missing when the peer ended in order.
  uint64_t bytes_silently_lost = 0;
  uint64_t bytes_doubled = 0;
  Duration longest_open{0};  // from the first try to the first record
};
std::string to_string(const LedgerTotals& totals);

struct LedgerTrafficOptions {
  std::vector<uint16_t> ports{};  // one for each proxy
  int short_clients = 4;          // five records, again and again
  int long_clients = 24;          // a record every 100 ms, for `long_life`
  int streams = 2;                // 4 MiB there and back as fast as it goes
  int curls = 1;                  // the real curl
  Duration long_life = std::chrono::seconds(3);
  Duration first_record = std::chrono::seconds(3);  // then another proxy is tried
  Duration give_up = std::chrono::seconds(20);      // on opening
};

class Traffic {
 public:
  // Runs until stop().
  explicit Traffic(LedgerTrafficOptions options);
  ~Traffic();
  Traffic(const Traffic&) = delete;
  Traffic& operator=(const Traffic&) = delete;

  // Lets every connection end as it should first.
  LedgerTotals stop();
  LedgerTotals totals() const;
  // Up to now; what follows is counted anew.
  LedgerTotals take();
  // Ports that new connections may use from here on.
  void use(std::vector<uint16_t> ports);
  // Who listens there is killed next. Its kernel ends its connections in order, wherever they are:
  // what they lose is lost, but nobody could have told their clients.
  void about_to_kill(uint16_t port);

 private:
  class Client;
  void run_records(int index, uint64_t records, Duration gap);
  void run_stream(int index);
  void run_curl(int index);
  bool open(Client& client, int index);
  void ended(const Client& client, bool whole);
  uint16_t port(uint64_t turn) const;
  template <typename Change>
  void note(const Change& change);

  LedgerTrafficOptions options_;
  std::atomic<bool> ending_ = false;
  std::atomic<uint64_t> next_connection_ = 1;
  mutable std::mutex mutex_;
  LedgerTotals totals_;
  std::set<uint16_t> killed_;  // ports
  std::vector<std::thread> threads_;
};

}  // namespace holdfast::test
