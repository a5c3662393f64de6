#include "e2e/pair_crowd.h"

#include <fmt/format.h>

#include "support/eventually.h"
#include "support/linear.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

constexpr size_t kFollowing = 4;
constexpr size_t kAtEach = 2;
// Longer than a half lets a client wait for what becomes of its vote.
constexpr Duration kPairCrowdPatience = 3s;

}  // namespace

PairCrowd::PairCrowd(PairWorld& world, const PairCrowdOptions& options)
    : following_({.addresses = world.addresses(), .tls = world.admin()}),
      at_primary_(world.primary().address(), world.admin(), kPairCrowdPatience),
      at_backup_(world.backup().address(), world.admin(), kPairCrowdPatience) {
  const auto add = [&](const std::string& half, PairDoor& door) {
    const size_t number = clients_.size();
    clients_.push_back(std::make_unique<PairClient>(
        PairClientOptions{.name = fmt::format("{}{}", half.empty() ? "any" : half, number),
                          .half = half,
                          .prefix = options.name + "-",
                          .pause = 20ms,
                          .seed = options.seed * 100 + number},
        door, history_));
  };
  for (size_t i = 0; i < kFollowing; ++i) add("", following_);
  for (size_t i = 0; i < kAtEach; ++i) add("primary", at_primary_);
  for (size_t i = 0; i < kAtEach; ++i) add("backup", at_backup_);
}

bool PairCrowd::goes_on(size_t writes, Duration patience) {
  const size_t before = history_.acknowledged_writes();
  return eventually([&] { return history_.acknowledged_writes() >= before + writes; }, patience);
}

void PairCrowd::stop() {
  for (const auto& client : clients_) client->finish();
  for (const auto& client : clients_) client->stop();
  clients_.front()->read_all();
}

size_t PairCrowd::failed_calls() const {
  size_t failed = 0;
  for (size_t i = 0; i < kFollowing; ++i) failed += clients_[i]->failed();
  return failed;
}

std::string PairCrowd::last_failure() const {
  std::string text;
  for (const auto& client : clients_) text += client->last_failure() + "\n";
  return text;
}

std::vector<std::string> PairCrowd::judge() const {
  std::vector<std::string> wrong = wrong_epochs(history_.sightings());
  const Verdict verdict = check_history(history_.calls());
  if (!verdict.holds()) wrong.push_back(verdict.explanation);
  return wrong;
}

}  // namespace holdfast::test
