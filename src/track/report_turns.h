// When this node's pools are reported to the controllers, and which answer belongs to which report:
// each second, or sooner when places run short; one at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "route/load.h"

namespace holdfast::track {

struct ReportTurnsOptions {
  std::string holder{};  // "agent/edge-1"
  std::string zone{};
  uint64_t boot = 1;
  Duration every = std::chrono::seconds(1);
  // Between two reports, when places run short.
  Duration at_soonest = std::chrono::milliseconds(100);
};

class ReportTurns {
 public:
  explicit ReportTurns(ReportTurnsOptions options)
      : options_(std::move(options)), every_(options_.every) {}

  // Never while a report waits for its answer.
  Time due() const;
  // There is something to say soon: places run short, or fewer are kept to than before.
  void hurry() { is_short_ = true; }
  // `grant` is the latest in force.
  route::LoadReport begin(std::vector<route::PoolReport> pools, uint64_t grant, Time now);
  // When the report was sent that this answers; nothing if it answers none, or grants nothing.
  std::optional<Time> answered(const route::LoadGrant& grant, Time now);
  void failed();

 private:
  ReportTurnsOptions options_;
  Duration every_;
  uint64_t number_ = 0;
  uint64_t grant_ = 0;
  Time sent_{};
  std::optional<Time> asked_;  // the first of those that were not answered
  Duration answered_in_{};
  bool is_waiting_ = false;
  bool is_short_ = true;  // at first: that it is there
};

}  // namespace holdfast::track
