// How a cache fetches kinds and swaps them in: those of one stream together, a retry by itself.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/reason.h"
#include "cache/cache.h"
#include "resource/registry.h"

namespace holdfast::cache {
namespace {

// Not worth asking again soon.
bool is_lasting(const Status& why) {
  return why.code() == absl::StatusCode::kUnimplemented ||
         why.code() == absl::StatusCode::kPermissionDenied ||
         why.code() == absl::StatusCode::kResourceExhausted;
}

bool means_empty(resource::Kind kind, const Status& why) {
  return why.code() == absl::StatusCode::kNotFound && !resource::info(kind).singleton_name.empty();
}

}  // namespace

// While its old table is within its bound, nothing older takes its place; later a server that is
// behind is better than none.
void Cache::load(KindState& kind, bool together, Moment now) {
  kind.stop_loading();
  kind.together = together;
  const int64_t shown = kind.stale_at ? std::max(view(kind).revision, kind.newest_page) : 0;
  kind.load.emplace(kind.policy.kind, LoadLimits{.max_items = options_.max_items,
                                                 .max_held_events = options_.max_held_events,
                                                 .not_before = std::max(newest_, shown)});
  if (kind.why.code == "HF1201" || kind.why.code == "HF1206") {
    set_source(kind, kind.source, {"HF1206", "it is loading"}, now);
  }
}

void Cache::fetch_more() {
  size_t running = static_cast<size_t>(
      std::ranges::count_if(kinds_, [](const KindState& kind) { return kind.fetch != 0; }));
  for (KindState& kind : kinds_) {
    if (running >= options_.parallel_fetches) return;
    if (!kind.load || kind.load->done() || kind.fetch != 0) continue;
    running += 1;
    kind.fetch = ++last_fetch_;
    Fetch fetch{.id = kind.fetch, .kind = kind.policy.kind, .request = {}};
    fetch.request.set_kind(std::string(resource::info(kind.policy.kind).name));
    fetch.request.set_page_size(options_.page_size);
    fetch.request.set_page_token(kind.load->next_page_token());
    fetch.request.set_with_secrets(kind.policy.with_secrets);
    actions_.emplace_back(std::move(fetch));
  }
}

Actions Cache::on_page(uint64_t fetch, Result<v1::ListResponse> page, Moment now) {
  const auto found = std::ranges::find(kinds_, fetch, &KindState::fetch);
  if (fetch == 0 || found == kinds_.end()) return {};
  found->fetch = 0;
  stats_.pages += 1;
  page_arrived(*found, std::move(page), now);
  fetch_more();
  return finish(now);
}

void Cache::page_arrived(KindState& kind, Result<v1::ListResponse> page, Moment now) {
  Status status = absl::OkStatus();
  if (page.ok()) {
    status = kind.load->add_page(*std::move(page));
  } else if (means_empty(kind.policy.kind, page.status())) {
    kind.load->add_nothing();
  } else {
    status = page.status();
  }
  if (!status.ok()) fetch_failed(kind, status, now);
  if (kind.load && kind.load->done() && !kind.together) {
    generation_ += 1;
    swap_one(kind, now);
  }
  swap_in(now);
}

// Its failure is its own: others go on, and are not waited for.
void Cache::fetch_failed(KindState& kind, const Status& why, Moment now) {
  stats_.fetches_failed += 1;
  if (kind.live()) kind.stale_at = now.time + kind.policy.max_staleness;
  kind.stop_loading();
  kind.resumable = false;
  kind.restarts = 0;
  kind.retry_at = now.time + (is_lasting(why) ? kind.retry.slow() : kind.retry.next());
  set_source(kind, Source::Upstream,
             {"HF1203", fmt::format("the fetch failed: {}", split_reason(why).message)}, now);
}

// True if derived watchers were told to begin again.
bool Cache::swap_in(Moment now) {
  const auto is_part = [](const KindState& kind) { return kind.load && kind.together; };
  const bool waits = std::ranges::any_of(
      kinds_, [&](const KindState& kind) { return is_part(kind) && !kind.load->done(); });
  if (!waits) {
    first_try_over_ = true;
    if (std::ranges::any_of(kinds_, is_part)) generation_ += 1;
    for (KindState& kind : kinds_) {
      if (is_part(kind)) swap_one(kind, now);
    }
    note_whole(now);
  }
  return settle_fan_out(now);
}

// Only now is the server known to bear what this cache asks of it. An Init is no sign of that: a
// crowd that comes back at once would take it down again while it sends pages.
void Cache::note_whole(Moment now) {
  const bool some = std::ranges::any_of(kinds_, &KindState::live);
  if (whole_since_ || !some) return;
  whole_since_ = now.time;
  retry_.reset();
}

void Cache::swap_one(KindState& kind, Moment now) {
  stats_.events_applied += kind.load->applied();
  stats_.events_skipped += kind.load->skipped();
  stats_.swaps += 1;
  Items items = kind.load->take();
  KindView& seen = view(kind);
  seen.items = std::move(items.table);
  seen.generation = generation_;
  kind.newest_page = items.coverage.newest();
  seen.ahead = std::make_shared<const Coverage>(std::move(items.coverage));
  kind.stop_loading();
  kind.resumable = true;
  kind.restarts = 0;
  kind.retry.reset();
  set_source(kind, Source::Cache, {}, now);
  changed_ = true;
  unsaved_ = true;
}

void Cache::retry_fetches(Moment now) {
  for (KindState& kind : kinds_) {
    if (kind.retry_at && *kind.retry_at <= now.time) load(kind, /*together=*/false, now);
  }
  fetch_more();
}

}  // namespace holdfast::cache
