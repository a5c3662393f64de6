// The pinned maps, opened: what the agent reads and writes. It needs no right to load programs,
// only the folder of pins (and CAP_BPF where unprivileged BPF is switched off).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "track/audit.h"
#include "track/bpf_handles.h"
#include "track/model.h"
#include "track/totals.h"

namespace holdfast::track {

class Pins {
 public:
  // HF8108: nothing is pinned there, or it may not be opened. HF8105: another layout.
  static Result<std::unique_ptr<Pins>> open(const std::string& directory);
  Pins(const Pins&) = delete;
  Pins& operator=(const Pins&) = delete;

  Sizes sizes() const { return sizes_; }
  // Of these maps; others that are pinned in their place have another.
  uint32_t maps_id() const;
  // Whether the folder still has what is open here. HF8108: somebody removed it, or loaded anew.
  Status still_there() const;
  // Whether every program is attached. HF8110: not all of them.
  Status attached() const;
  Result<Snapshot> read() const;
  // In order; stops at the first that fails.
  Status apply(std::span<const MapWrite> writes) const;

  // Every key with its counts, each read in one go.
  Result<std::vector<CounterSample>> counters() const;
  // Every flow that is alive. Ends UDP flows that were idle for too long.
  Result<std::vector<hf_live>> alive() const;
  // Adds to counters as the kernel itself does, under traffic.
  Status mend(const hf_repair& repair) const;

  struct Audited {
    std::vector<Drift> drifts{};  // found, and mended
    size_t flows = 0;
  };
  // Reads, lists, reads again, and mends what is not right.
  Result<Audited> audit() const;

  Result<hf_stats> stats() const;
  Result<hf_settings> settings() const;
  Status change_settings(const hf_settings& settings) const;
  Result<hf_health> health(uint32_t backend) const;

 private:
  explicit Pins(std::string directory) : directory_(std::move(directory)) {}
  int map(MapName name) const { return maps_[static_cast<size_t>(name)].get(); }

  std::string directory_;
  std::vector<Descriptor> maps_;  // by MapName
  Descriptor settings_;
  Descriptor stats_;
  Descriptor audit_;
  Descriptor mend_;
  Sizes sizes_;
};

}  // namespace holdfast::track
