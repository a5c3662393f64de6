// A fleet of simulated agents against one controller. Each announces itself when the controller
// told it to; many share a connection, which real agents do not. Some stop on the way, and a
// watcher holds what the controller says of each against what the agent really did.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "delays.h"
#include "holdfast/v1/api.grpc.pb.h"
#include "holdfast/v1/node.grpc.pb.h"

namespace holdfast::bench {

struct FleetOptions {
  int agents = 30'000;
  int stopping = 300;
  int connections = 32;
  int ttl_seconds = 60;
  int seconds = 120;  // measured, after everybody has announced once
};

struct FleetFindings {
  uint64_t announced = 0;
  uint64_t failed = 0;          // announcements
  uint64_t false_offline = 0;   // events that called a live agent offline
  uint64_t missed = 0;          // stopped agents never seen offline
  double latest_seconds = 0;    // most a stopped agent was seen offline after its TTL
  double earliest_seconds = 0;  // least, negative if before its TTL
};

std::string agent_name(int index);
std::vector<std::shared_ptr<grpc::Channel>> connect_all(const std::string& address, int count);

class Fleet {
 public:
  Fleet(const std::string& address, const FleetOptions& options);
  ~Fleet();

  // Everybody announces once, spread over half a TTL, and from then on as told.
  void start();
  // From now on some fall silent, spread over the time that leaves room to find them.
  void begin_stopping();
  // Ends all announcing and watching; then the findings are final.
  FleetFindings finish();
  const DelayHistogram& delays() const { return delays_; }

 private:
  struct Agent {
    int64_t due = 0;
    int64_t stop_at = INT64_MAX;
    int64_t last_sent = 0;  // of an announcement that was answered
    int64_t offline_seen = 0;
    bool in_flight = false;
    bool stopped = false;
  };
  struct Call;

  void run();
  void announce(int index);
  void on_answer(Call& call, const grpc::Status& status);
  void watch();
  void on_offline(const std::string& name);

  FleetOptions options_;
  std::vector<std::shared_ptr<grpc::Channel>> channels_;
  std::vector<std::unique_ptr<v1::Presence::Stub>> stubs_;
  std::mutex mutex_;  // agents_ and findings_
  std::vector<Agent> agents_;
  FleetFindings findings_;
  DelayHistogram delays_;
  std::atomic<int> calls_ = 0;
  std::atomic<bool> ending_ = false;
  grpc::ClientContext watch_context_;
  std::jthread watcher_;
  std::jthread runner_;
};

}  // namespace holdfast::bench
