#include "e2e/pair_faults.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/check.h"
#include "support/eventually.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using Meanwhile = PairFault::Meanwhile;

constexpr size_t kSomeWrites = 30;
// What is not served in this time is not: longer than any timeout of the pair.
constexpr Duration kWhile = 4s;

class Trial {
 public:
  Trial(PairWorld& world, const PairFault& fault, uint64_t seed)
      : world_(world), fault_(fault), crowd_(world, {.name = fault.name, .seed = seed}) {}

  std::vector<std::string> run() {
    if (!crowd_.goes_on(kSomeWrites)) return {"it was not served before: " + story()};
    PairMember& active = world_.active();
    fault_.strike(world_, active);
    expect_meanwhile(active);
    fault_.mend(world_, active);
    world_.mend();
    if (!world_.becomes_whole()) wrong("it does not become whole: " + story());
    if (!crowd_.goes_on(kSomeWrites)) wrong("it is not served afterwards: " + story());
    crowd_.stop();
    if (!world_.becomes_equal()) wrong("the halves do not become equal: " + story());
    for (std::string& each : crowd_.judge()) wrong(std::move(each));
    std::printf("pair %s: %zu calls, %zu failed of those who follow, %s\n", fault_.name.c_str(),
                crowd_.history().calls().size(), crowd_.failed_calls(),
                wrong_.empty() ? "good" : "WRONG");
    return std::move(wrong_);
  }

 private:
  void expect_meanwhile(PairMember& active) {
    if (fault_.meanwhile == Meanwhile::Either) {
      let_pass(kWhile);
      return;
    }
    if (fault_.meanwhile == Meanwhile::Nothing) {
      // A write that was under way when the fault struck may still be acknowledged, however late.
      const Time struck = SystemClock().now();
      if (eventually([&] { return crowd_.history().acknowledged_writes_since(struck) > 0; },
                     kWhile)) {
        wrong("a write that began meanwhile was acknowledged: " + story());
      }
      return;
    }
    if (!crowd_.goes_on(kSomeWrites)) wrong("nothing was acknowledged meanwhile: " + story());
    if (fault_.meanwhile == Meanwhile::Served) return;
    const bool same = &world_.active() == &active;
    if (same != (fault_.meanwhile == Meanwhile::ServedBySame)) {
      wrong("the wrong half was active meanwhile: " + story());
    }
  }
  void wrong(std::string what) { wrong_.push_back(std::move(what)); }
  std::string story() { return crowd_.last_failure() + world_.describe(); }

  PairWorld& world_;
  const PairFault& fault_;
  PairCrowd crowd_;
  std::vector<std::string> wrong_;
};

}  // namespace

std::vector<std::string> live_through(PairWorld& world, const PairFault& fault, uint64_t seed) {
  return Trial(world, fault, seed).run();
}

namespace pair_faults {

PairFault kill_active() {
  return {.name = "kill-active",
          .strike = [](PairWorld&, PairMember& active) { active.kill(); },
          .meanwhile = Meanwhile::ServedByOther};
}

PairFault freeze_active() {
  return {.name = "freeze-active",
          .strike = [](PairWorld&, PairMember& active) { active.freeze(); },
          .meanwhile = Meanwhile::ServedByOther};
}

// For longer than its lease, for less time than it takes the other one to take over.
PairFault pause_active_briefly() {
  return {.name = "pause-active",
          .strike =
              [](PairWorld&, PairMember& active) {
                active.freeze();
                let_pass(650ms);
                active.thaw();
              },
          .meanwhile = Meanwhile::Served};
}

PairFault isolate_active() {
  return {.name = "isolate-active",
          .strike = [](PairWorld& world,
                       PairMember& active) { world.network().isolate(active.name()); },
          .meanwhile = Meanwhile::Served};
}

PairFault cut_pair() {
  return {.name = "cut-pair",
          .strike = [](PairWorld& world, PairMember&) { world.network().cut("primary", "backup"); },
          .meanwhile = Meanwhile::ServedBySame};
}

PairFault lose_from_active() {
  return {.name = "lose-from-active",
          .strike =
              [](PairWorld& world, PairMember& active) {
                world.network().lose(active.name(), world.other(active).name());
              },
          .meanwhile = Meanwhile::Served};
}

PairFault lose_to_active() {
  return {.name = "lose-to-active",
          .strike =
              [](PairWorld& world, PairMember& active) {
                world.network().lose(world.other(active).name(), active.name());
              },
          .meanwhile = Meanwhile::Served};
}

PairFault kill_passive() {
  return {.name = "kill-passive",
          .strike = [](PairWorld& world, PairMember& active) { world.other(active).kill(); },
          .meanwhile = Meanwhile::ServedBySame};
}

PairFault freeze_passive() {
  return {.name = "freeze-passive",
          .strike = [](PairWorld& world, PairMember& active) { world.other(active).freeze(); },
          .meanwhile = Meanwhile::ServedBySame};
}

PairFault kill_witness() {
  return {.name = "kill-witness",
          .strike = [](PairWorld& world, PairMember&) { world.witness().kill(); },
          .meanwhile = Meanwhile::ServedBySame};
}

PairFault fill_active() {
  return {.name = "fill-active",
          .strike = [](PairWorld&, PairMember& active) { active.fill_disk(); },
          .meanwhile = Meanwhile::Either,
          .mend = [](PairWorld&, PairMember& active) { active.free_disk(); }};
}

PairFault fill_passive() {
  return {.name = "fill-passive",
          .strike = [](PairWorld& world, PairMember& active) { world.other(active).fill_disk(); },
          .meanwhile = Meanwhile::Either,
          .mend = [](PairWorld& world, PairMember& active) { world.other(active).free_disk(); }};
}

PairFault active_loses_its_disk() {
  return {.name = "empty-disk",
          .strike = [](PairWorld&, PairMember& active) { active.kill(); },
          .meanwhile = Meanwhile::ServedByOther,
          .mend =
              [](PairWorld& world, PairMember& active) {
                active.lose_data();
                world.join_again(active);
              }};
}

PairFault founder_loses_its_disk(bool promote_other) {
  return {.name = "empty-founder",
          .strike =
              [promote_other](PairWorld& world, PairMember&) {
                PairMember& founder = world.primary();
                founder.kill();
                founder.lose_data();
                founder.start();
                if (!promote_other) return;
                const Result<v1::PromoteResponse> promoted = world.backup().promote();
                HF_CHECK(promoted.ok(), promoted.status().ToString() + world.describe());
              },
          .mend =
              [](PairWorld& world, PairMember&) {
                world.primary().terminate();
                world.join_again(world.primary());
              }};
}

std::vector<PairFault> of_all_kinds() {
  return {kill_active(),    freeze_active(),  pause_active_briefly(), isolate_active(),
          cut_pair(),       lose_to_active(), lose_from_active(),     kill_passive(),
          freeze_passive(), kill_witness(),   active_loses_its_disk()};
}

}  // namespace pair_faults

}  // namespace holdfast::test
