#include "cache/cache_metrics.h"

#include <algorithm>

#include "resource/registry.h"

namespace holdfast::cache {

void CacheMetrics::count(const metrics::Description& description, const metrics::Labels& labels,
                         uint64_t total) {
  metrics::Counter counter = registry_.counter(description).with(labels);
  const double more = static_cast<double>(total) - counter.value();
  if (more > 0) counter.add(more);
}

void CacheMetrics::set(const metrics::Description& description, const metrics::Labels& labels,
                       double value) {
  registry_.gauge(description).with(labels).set(value);
}

void CacheMetrics::show_kinds(const Cache& cache, WallTime now) {
  for (const resource::KindInfo& info : resource::all_kinds()) {
    const auto kind = static_cast<resource::Kind>(&info - resource::all_kinds().data());
    if (cache.policy(kind) == nullptr) continue;
    const KindView& view = cache.current().of(kind);
    const metrics::Labels labels{{"kind", std::string(info.name)}};
    set({"holdfast_cache_source", "Where reads are answered: 0 upstream, 1 cache, 2 stale."},
        labels, static_cast<double>(view.source));
    set({"holdfast_cache_generation", "Rises when a kind is loaded or its stream begins anew."},
        labels, static_cast<double>(view.generation));
    set({"holdfast_cache_items", "Resources in the cache."}, labels,
        static_cast<double>(view.items.size()));
    const bool has_age = view.source != Source::Cache && view.as_of != WallTime{};
    const Duration age = has_age ? std::max(Duration(now - view.as_of), Duration(0)) : Duration(0);
    set({"holdfast_cache_age_seconds", "Since the kind was last known to be whole; 0 if it is."},
        labels, std::chrono::duration<double>(age).count());
  }
}

void CacheMetrics::show_stats(const CacheStats& stats) {
  count({"holdfast_cache_resets_total", "Times all derived watchers were closed."}, {},
        stats.resets);
  count({"holdfast_cache_resumes_total", "Streams that went on where the last one ended."}, {},
        stats.resumes);
  count({"holdfast_cache_subscribes_total", "Times a stream was asked for."}, {}, stats.subscribes);
  count({"holdfast_cache_fetch_failures_total", "Kinds that could not be fetched."}, {},
        stats.fetches_failed);
  const metrics::Description events{"holdfast_cache_events_total",
                                    "Events, by what became of them."};
  count(events, {{"outcome", "applied"}}, stats.events_applied);
  count(events, {{"outcome", "skipped"}}, stats.events_skipped);
  count(events, {{"outcome", "ignored"}}, stats.events_ignored);
}

void CacheMetrics::show_reads(const Numbers& numbers) {
  const metrics::Description reads{"holdfast_cache_reads_total", "Reads answered by a table."};
  count(reads, {{"table", "current"}}, numbers.reads_from_table);
  count(reads, {{"table", "last_good"}}, numbers.reads_from_last_good);
  for (const auto& [code, total] : numbers.upstream_reads) {
    std::string outcome = absl::StatusCodeToString(code);
    std::ranges::transform(outcome, outcome.begin(),
                           [](unsigned char letter) { return std::tolower(letter); });
    count({"holdfast_cache_upstream_reads_total", "Reads of upstream, by what became of them."},
          {{"outcome", outcome}}, total);
  }
  count({"holdfast_cache_memo_hits_total", "Reads that another's read of upstream answered."}, {},
        numbers.memo_hits);
  count({"holdfast_cache_memo_dropped_total", "Answers of upstream forgotten for want of room."},
        {}, numbers.memo_dropped);
  count({"holdfast_cache_listings_dropped_total",
         "Listings forgotten for want of room before they were read to their end."},
        {}, numbers.listings_dropped);
  count({"holdfast_cache_copy_saves_total", "Copies of the cache written to disk."}, {},
        numbers.copy_saves);
  const metrics::Description failures{"holdfast_cache_copy_failures_total",
                                      "Copies that could not be written or were of no use."};
  count(failures, {{"operation", "save"}}, numbers.copy_failed_saves);
  count(failures, {{"operation", "load"}}, numbers.copy_failed_loads);
}

void CacheMetrics::update(const Cache& cache, const Numbers& numbers, WallTime now) {
  show_kinds(cache, now);
  show_stats(cache.stats());
  show_reads(numbers);
}

}  // namespace holdfast::cache
