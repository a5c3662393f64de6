// The client under test, at work all the time: a PickHealthyService on a loop of its own, with
// readers and writers that call through it without a pause worth the name, and a ledger of what
// became of every call.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "e2e/api_client.h"
#include "net/task_group.h"
#include "rpc/pick_healthy_service.h"

namespace holdfast::test {

namespace asio = boost::asio;

struct TrafficOptions {
  std::vector<std::string> addresses{};
  rpc::TlsOptions tls{};
  std::string name{};  // what is written is called NAME-0, NAME-1 and so on
  size_t readers = 4;
  size_t writers = 4;
  Duration read_pause = std::chrono::milliseconds(40);
  Duration write_pause = std::chrono::milliseconds(80);
  Duration deadline = std::chrono::seconds(10);
  rpc::PickHealthyServiceOptions link{};
};

// Of one kind of calls.
struct CallLedger {
  size_t succeeded = 0;
  std::vector<std::string> failures{};  // what each said
  Duration longest_gap{0};              // between two that succeeded
};

struct TrafficReport {
  CallLedger reads{};
  CallLedger writes{};
  std::vector<std::string> acknowledged{};  // the names written
};

class FailoverTraffic {
 public:
  // The link begins to connect; no call is made.
  explicit FailoverTraffic(TrafficOptions options);
  ~FailoverTraffic();
  FailoverTraffic(const FailoverTraffic&) = delete;
  FailoverTraffic& operator=(const FailoverTraffic&) = delete;

  void start();
  // Lets each worker finish its call.
  void stop();
  // Gaps count from now.
  void forget_gaps();
  // Whether so many more reads and writes succeed within `patience`.
  bool goes_on(size_t reads, size_t writes, Duration patience);
  TrafficReport report() const;

  // The connection picked now; null if there is none within ten seconds.
  rpc::Pinned pin();
  rpc::PickHealthyStats stats();
  // One call through the link, the answer being the name of the controller that gave it.
  Result<std::string> controller_in_use(Duration timeout = std::chrono::seconds(10));

 private:
  template <typename T>
  T on_loop(asio::awaitable<T> work);
  asio::awaitable<void> read_again_and_again();
  asio::awaitable<void> write_again_and_again();
  asio::awaitable<Result<v1::Resource>> write(std::string name, std::string request_id);
  void record(CallLedger& ledger, Time& last, const Status& status);

  const TrafficOptions options_;
  const SystemClock clock_;
  asio::io_context loop_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  rpc::PickHealthyService link_;
  net::TaskGroup tasks_;
  std::atomic<bool> running_ = false;
  std::atomic<size_t> workers_ = 0;
  size_t next_name_ = 0;  // of the loop
  mutable std::mutex mutex_;
  TrafficReport report_;
  Time last_read_;
  Time last_write_;
  std::thread thread_;
};

// A watch of services on a connection that it keeps open, opened from now on or after a revision.
class PinnedWatch {
 public:
  explicit PinnedWatch(rpc::Pinned connection, int64_t after_revision = 0);

  WatchReader& reader() { return *reader_; }
  // The last revision it has seen; with Init the one it began at.
  int64_t revision() const;
  // Ends it if it runs, and lets go of the connection.
  void close();

 private:
  rpc::Pinned connection_;
  std::unique_ptr<ApiClient> client_;
  std::unique_ptr<WatchReader> reader_;
};

}  // namespace holdfast::test
