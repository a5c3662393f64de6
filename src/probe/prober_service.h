// Carries out probes as the kubelet does: a new connection each time, nothing kept.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <memory>
#include <string>

#include "base/result.h"
#include "probe/probe.h"

namespace holdfast::probe {

namespace asio = boost::asio;

struct ProberOptions {
  std::string address = "127.0.0.1";  // where probes without a host go: the pod's IP
  std::string user_agent = "kube-probe/1.0";
  std::string hook_user_agent = "kube-lifecycle/1.0";
  // Local address of every connection, for redirections that exempt it; empty: the kernel's choice.
  std::string source{};
  // A hook has no time-out but the patience of who asks for it; this bounds it all the same.
  Duration hook_timeout = std::chrono::hours(1);
  size_t max_running = 4096;  // beyond it a probe fails at once and says so
};

struct ProberStats {
  uint64_t started = 0;
  uint64_t healthy = 0;
  uint64_t failed = 0;
  uint64_t errors = 0;
  uint64_t cancelled = 0;  // healthy, failed, errors and cancelled tell all ends apart
  uint64_t refused_full = 0;
  size_t running = 0;
};

// On one loop. Outlives every run().
class ProberService {
 public:
  ProberService(const asio::any_io_executor& loop, ProberOptions options);
  ~ProberService();

  // The probe is there until it ends. Never throws for a failing application. Cancelling the
  // awaiting coroutine (terminal) closes the connection at once; the outcome is then "cancelled".
  // Else it is closed before the outcome is given, or once the loop has done what follows from it:
  // a reset takes the kernel a while, and somebody may wait for an answer.
  enum class Closing { First, Soon };
  asio::awaitable<Outcome> run(const Probe& probe, Closing closing = Closing::First);
  const ProberStats& stats() const;

 private:
  struct Shared;
  std::unique_ptr<Shared> shared_;
};

}  // namespace holdfast::probe
