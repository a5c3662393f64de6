#include "route/lease_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>

namespace holdfast::route::sim {

namespace {

using namespace std::chrono_literals;

constexpr double kTurn = 0.10;
constexpr size_t kSamplesPerWindow = 20;  // ten seconds

Tally operator-(const Tally& after, const Tally& before) {
  return {.all = after.all - before.all,
          .local = after.local - before.local,
          .spilled = after.spilled - before.spilled,
          .early = after.early - before.early,
          .beyond = after.beyond - before.beyond,
          .refused = after.refused - before.refused};
}

double local_share(const Tally& tally) {
  if (tally.all == 0) return 1;
  return static_cast<double>(tally.local) / static_cast<double>(tally.all);
}

// Turning points at which the share went by kTurn one way and then by kTurn the other.
size_t count_reversals(const std::vector<double>& shares) {
  size_t turns = 0;
  int direction = 0;
  double extreme = shares.front();
  for (const double share : shares) {
    if (direction == 0 && std::abs(share - extreme) >= kTurn) {
      direction = share > extreme ? 1 : -1;
      extreme = share;
    } else if (direction != 0 && (share - extreme) * direction > 0) {
      extreme = share;
    } else if (direction != 0 && std::abs(share - extreme) >= kTurn) {
      direction = -direction;
      extreme = share;
      ++turns;
    }
  }
  return turns;
}

class Recorder {
 public:
  explicit Recorder(World& world) : world_(world), began_(world.now()), at_(world.tally(0)) {
    world.watch(100ms, [this] { look(); });
    world.watch(500ms, [this] { sample(); });
  }

  Outcome outcome{};
  double offered = 0;
  std::vector<double> windows{1.0};  // local shares of the step, after that before it

 private:
  void look() {
    outcome.peak = std::max(outcome.peak, world_.active(0));
    outcome.most_leased = std::max(outcome.most_leased, world_.leased(0));
    ++looks_;
    if (world_.active(0) > world_.options().capacity) ++over_;
    outcome.over_percent = percent(over_, looks_);
  }
  void sample() {
    recent_.push_back(world_.tally(0) - at_);
    at_ = world_.tally(0);
    Tally window;
    const size_t count = std::min(recent_.size(), kSamplesPerWindow);
    for (size_t i = recent_.size() - count; i < recent_.size(); ++i) {
      window.all += recent_[i].all;
      window.local += recent_[i].local;
    }
    if (recent_.size() % kSamplesPerWindow == 0) windows.push_back(local_share(window));
    outcome.samples.push_back(
        {.seconds = std::chrono::duration<double>(world_.now() - began_).count(),
         .offered = offered,
         .active = {world_.active(0), world_.active(1), world_.active(2)},
         .leased = world_.leased(0),
         .local_share = local_share(window)});
  }

  World& world_;
  Time began_;
  Tally at_;
  std::vector<Tally> recent_;
  uint64_t looks_ = 0;
  uint64_t over_ = 0;
};

}  // namespace

double percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

Outcome run_steps(World& world, const std::function<void(int second)>& during) {
  world.offer(0, kLoads[0]);
  world.run_for(20s);  // until the dealer deals and as many end as come
  Recorder recorder(world);
  const Tally began = world.tally(0);
  const uint64_t reports = world.reports();
  int second = 0;
  for (size_t step = 0; step < kLoads.size(); ++step) {
    recorder.offered = kLoads[step];
    world.offer(0, kLoads[step]);
    const Tally before = world.tally(0);
    Tally at_end;
    for (Duration gone = 0s; gone < kStep; gone += 1s, ++second) {
      if (during) during(second);
      if (gone == kStep - 20s) at_end = world.tally(0);
      world.run_for(1s);
    }
    recorder.outcome.steps[step] = world.tally(0) - before;
    recorder.outcome.local_at_end = local_share(world.tally(0) - at_end);
    recorder.outcome.reversals[step] = count_reversals(recorder.windows);
    recorder.windows = {recorder.windows.back()};
  }
  recorder.outcome.all = world.tally(0) - began;
  recorder.outcome.reports_a_second =
      static_cast<double>(world.reports() - reports) / static_cast<double>(second);
  world.watch_no_more();
  return recorder.outcome;
}

std::string describe(const std::string& name, const Outcome& outcome, uint64_t capacity) {
  const Tally& all = outcome.all;
  return fmt::format(
      "  {:<34} spilled {:4.1f} % ({:.1f}, {:.1f}, {:.1f})  early {:4.1f} %  beyond {:5.2f} %  "
      "over {:4.1f} % of the time  peak {:3.0f} %  reversals {}, {}, {}  {:3.0f} reports/s",
      name, percent(all.spilled, all.all), percent(outcome.steps[0].spilled, outcome.steps[0].all),
      percent(outcome.steps[1].spilled, outcome.steps[1].all),
      percent(outcome.steps[2].spilled, outcome.steps[2].all), percent(all.early, all.all),
      percent(all.beyond, all.all), outcome.over_percent, percent(outcome.peak, capacity),
      outcome.reversals[0], outcome.reversals[1], outcome.reversals[2], outcome.reports_a_second);
}

void write_samples(const std::string& path,
                   const std::vector<std::pair<std::string, Outcome>>& runs) {
  std::ofstream file(path);
  file << "law,seconds,offered,a,b,c,leased,local_share\n";
  for (const auto& [name, outcome] : runs) {
    for (const Sample& sample : outcome.samples) {
      file << fmt::format("{},{:.1f},{:.2f},{},{},{},{},{:.4f}\n", name, sample.seconds,
                          sample.offered, sample.active[0], sample.active[1], sample.active[2],
                          sample.leased, sample.local_share);
    }
  }
}

}  // namespace holdfast::route::sim
