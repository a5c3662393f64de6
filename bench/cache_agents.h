// A hundred thousand agents as a fleet announces them, for the cache's benchmark, and what a thread
// has used up while it looked at them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cache/snapshot.h"
#include "holdfast/v1/api.pb.h"

namespace holdfast::bench {

constexpr int kAgents = 100'000;
constexpr int kPageSize = 1'000;
constexpr int64_t kRevision = 200'000;  // at which all of them are listed

v1::Resource make_agent(int index);

// All agents in pages, as a listing brings them.
std::vector<v1::ListResponse> make_pages();
std::vector<std::string> encoded_pages();
std::vector<v1::ListResponse> decode(const std::vector<std::string>& encoded);
// Empties the pages: each resource moves to where the cache keeps it.
cache::Table table_of(std::vector<v1::ListResponse>& pages);
std::unique_ptr<cache::Snapshot> snapshot_of(cache::Table agents, uint64_t generation);

// Names drawn at random of the first `among` of all agents, in an order of no meaning; one after
// the other in memory, so that asking costs little.
class Names {
 public:
  explicit Names(uint64_t seed, int among = kAgents);
  std::string_view operator[](uint64_t i) const;

 private:
  static constexpr size_t kCount = 1 << 17;
  static constexpr size_t kStride = 32;
  std::string text_;
  std::vector<uint8_t> sizes_;
};

double seconds();             // of a steady clock
double thread_cpu_seconds();  // that this thread has run
// What the kernel has counted of this thread.
struct ThreadCounts {
  int64_t gave_up = 0;     // left its processor by itself, as one does that waits for a lock
  int64_t taken_away = 0;  // had to leave it for another thread
  int64_t faults = 0;      // needed a page that was not mapped, on disk or not

  friend bool operator==(const ThreadCounts&, const ThreadCounts&) = default;
};
ThreadCounts thread_counts();

}  // namespace holdfast::bench
