// A Cache is fed by hand: Init, the pages of a listing, then the stream's end and a new Init.
#include "cache_core.h"

#include <algorithm>
#include <cstdio>

#include "bars.h"
#include "base/check.h"
#include "cache/cache_fixture.h"
#include "cache_agents.h"

namespace holdfast::bench {
namespace {

using cache::CacheRig;
using resource::Kind;
constexpr int kRounds = 3;
constexpr int kReconnects = 200;
constexpr size_t kSlice = 500;

cache::CacheOptions agents_only() {
  cache::CacheOptions options;
  options.kinds = {{.kind = Kind::Agent}};
  options.page_size = kPageSize;
  return options;
}

void load(CacheRig& rig, std::vector<v1::ListResponse> pages) {
  rig.start();
  rig.send({cache::init_event({Kind::Agent}, kRevision)});
  for (v1::ListResponse& page : pages) rig.answer(Kind::Agent, std::move(page));
  cache::View view(rig.cache.published());
  const auto agents = view.read<Kind::Agent>();
  HF_CHECK(agents && agents.find(make_agent(4711).metadata().name()), "it is readable");
}

void print(const char* what, std::vector<double> times) {
  std::printf("%-60s %9.3f\n", what, median(std::move(times)) * 1e3);
}

}  // namespace

void bench_first_readable() {
  const auto encoded = encoded_pages();
  std::vector<double> parsing, loading, freeing, slices;
  for (int round = 0; round < kRounds; ++round) {
    CacheRig rig(agents_only());
    const double start = thread_cpu_seconds();
    auto pages = decode(encoded);
    const double parsed = thread_cpu_seconds();
    load(rig, std::move(pages));
    parsing.push_back(parsed - start);
    loading.push_back(thread_cpu_seconds() - parsed);

    cache::Published<cache::Snapshot> published(
        std::make_unique<cache::Snapshot>(rig.cache.current()));
    published.publish(std::make_unique<cache::Snapshot>());
    published.reclaim();
    auto again = decode(encoded);
    published.publish(snapshot_of(table_of(again), 1));
    published.publish(std::make_unique<cache::Snapshot>());
    double longest = 0;
    const double begin = thread_cpu_seconds();
    for (bool over = false; !over;) {
      const double slice = thread_cpu_seconds();
      over = published.reclaim(kSlice).none();
      longest = std::max(longest, thread_cpu_seconds() - slice);
    }
    freeing.push_back(thread_cpu_seconds() - begin);
    slices.push_back(longest);
  }
  std::printf("\nCPU time of a cache of %d agents, ms, medians of %d rounds\n", kAgents, kRounds);
  print("parsing the pages of 1,000", parsing);
  print("from decoded pages to the first read", loading);
  print("freeing a generation, in slices of 500 items", freeing);
  print("the longest of these slices", slices);
  bar_at_most("cache_first_readable_seconds", median(parsing) + median(loading), 1);
}

void bench_reconnect() {
  CacheRig rig(agents_only());
  auto pages = make_pages();
  double start = thread_cpu_seconds();
  load(rig, std::move(pages));
  const double loading = thread_cpu_seconds() - start;
  const auto before = rig.cache.stats();

  std::vector<double> reconnects;
  for (int i = 0; i < kReconnects; ++i) {
    start = thread_cpu_seconds();
    rig.close(absl::UnavailableError("reset"));
    rig.advance(std::chrono::seconds(90));
    rig.send({cache::init_event({Kind::Agent}, kRevision)});
    reconnects.push_back(thread_cpu_seconds() - start);
    HF_CHECK(rig.cache.current().of(Kind::Agent).source == cache::Source::Cache, "it is back");
  }
  const auto& after = rig.cache.stats();
  HF_CHECK(after.resumes - before.resumes == kReconnects, "each goes on where the last ended");
  HF_CHECK(after.pages == before.pages && after.swaps == before.swaps, "nothing is fetched");
  print("a reconnect after which nothing has changed", reconnects);
  bar_at_most("cache_reconnect_vs_load", median(reconnects) / loading, 0.01);
}

}  // namespace holdfast::bench
