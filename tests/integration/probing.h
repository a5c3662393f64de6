// A prober and the loop it runs on, driven by the test.
#pragma once

#include <boost/asio/any_io_executor.hpp>

#include <chrono>

#include "loop_driver.h"
#include "probe/prober_service.h"

namespace holdfast::test {

class Probing {
 public:
  explicit Probing(probe::ProberOptions options = {})
      : prober_(driver_.loop().get_executor(), std::move(options)) {}

  probe::Outcome run(const probe::Probe& probe) { return driver_.wait(prober_.run(probe)); }
  // With how long it took.
  probe::Outcome timed(const probe::Probe& probe, std::chrono::milliseconds& took) {
    const auto start = std::chrono::steady_clock::now();
    const probe::Outcome outcome = run(probe);
    took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                                 start);
    return outcome;
  }
  // Whether the loop runs out of work by then.
  bool ends_within(std::chrono::steady_clock::duration limit) {
    driver_.loop().restart();
    driver_.loop().run_for(limit);
    return driver_.loop().stopped();
  }
  LoopDriver& driver() { return driver_; }
  probe::ProberService& prober() { return prober_; }
  const probe::ProberStats& stats() const { return prober_.stats(); }

 private:
  LoopDriver driver_;
  probe::ProberService prober_;
};

// Patient: the application is this process, which may stand still for a second on a busy machine.
// A test of a timeout sets its own.
inline constexpr Duration kPatientProbe = std::chrono::seconds(60);

inline probe::Probe http_probe(uint16_t port, std::string path = "/healthz") {
  return {
      .action = probe::HttpGet{.path = std::move(path)}, .port = port, .timeout = kPatientProbe};
}

inline probe::Probe tcp_probe(uint16_t port) {
  return {.action = probe::TcpSocket{}, .port = port, .timeout = kPatientProbe};
}

}  // namespace holdfast::test
