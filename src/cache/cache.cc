// The stream of a cache: when it is opened, what its beginning and its end mean.
#include "cache/cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/reason.h"
#include "resource/registry.h"

namespace holdfast::cache {
namespace {

// A stream that was whole for less is not trusted to be opened again and again without a wait.
constexpr Duration kShortLife = std::chrono::seconds(1);
constexpr int kMaxRushed = 3;

std::vector<events::WatchKind> watch_kinds(const std::vector<KindPolicy>& policies) {
  std::vector<events::WatchKind> kinds;
  for (const KindPolicy& policy : policies) kinds.push_back(watch_kind(policy));
  return kinds;
}

CacheOptions in_order(CacheOptions options) {
  HF_CHECK(!options.kinds.empty(), "a cache has at least one kind");
  std::ranges::sort(options.kinds, {}, &KindPolicy::kind);
  const auto twice = std::ranges::adjacent_find(options.kinds, {}, &KindPolicy::kind);
  HF_CHECK(twice == options.kinds.end(), "a cache has each kind once");
  return options;
}

}  // namespace

Cache::Cache(CacheOptions options)
    : options_(in_order(std::move(options))),
      published_(std::make_unique<Snapshot>(), options_.published),
      fan_out_(options_.fan_out, watch_kinds(options_.kinds)),
      retry_(options_.max_backoff, options_.seed) {
  kinds_.reserve(options_.kinds.size());
  for (const KindPolicy& policy : options_.kinds) {
    const uint64_t seed = options_.seed + 1 + static_cast<uint64_t>(policy.kind);
    kinds_.emplace_back(policy, options_.max_backoff, seed);
    kinds_.back().why = {"HF1206", "nothing has been loaded yet"};
  }
}

Actions Cache::start(Moment now) {
  HF_CHECK(phase_ == Phase::Stopped, "a cache starts once");
  for (KindState& kind : kinds_) {
    if (kind.since == WallTime{}) kind.since = now.wall;
  }
  subscribe(now);
  return finish(now);
}

Actions Cache::stop() {
  if (phase_ == Phase::Opening || phase_ == Phase::Live) {
    actions_.emplace_back(Unsubscribe{attempt_});
  }
  phase_ = Phase::Stopped;
  for (KindState& kind : kinds_) kind.stop_loading();
  reset_fan_out(absl::CancelledError("the cache stops"));
  if (!woken_.empty()) actions_.emplace_back(Wake{std::exchange(woken_, {})});
  return std::exchange(actions_, {});
}

void Cache::subscribe(Moment now) {
  const bool resumes = std::ranges::any_of(kinds_, &KindState::resumable);
  asked_after_ = resumes ? newest_ : 0;
  attempt_ += 1;
  whole_since_.reset();
  phase_ = Phase::Opening;
  deadline_ = now.time + options_.init_timeout;
  stats_.subscribes += 1;
  actions_.emplace_back(Subscribe{attempt_, watch_request()});
}

v1::WatchRequest Cache::watch_request() const {
  v1::WatchRequest request;
  for (const KindState& kind : kinds_) *request.add_kinds() = to_proto(watch_kind(kind.policy));
  request.set_allow_partial_success(!options_.strict);
  request.set_after_revision(asked_after_);
  return request;
}

Actions Cache::on_message(uint64_t attempt, v1::WatchResponse message, Moment now) {
  if (attempt != attempt_ || (phase_ != Phase::Opening && phase_ != Phase::Live)) return {};
  if (message.events().empty()) return {};
  const bool first = phase_ == Phase::Opening;
  Status status = first ? on_init(message.events(0), now) : absl::OkStatus();
  if (status.ok()) status = on_events(message, first ? 1 : 0, now);
  if (!status.ok()) fail_stream(status, now);
  return finish(now);
}

Actions Cache::on_closed(uint64_t attempt, const Status& why, Moment now) {
  if (attempt != attempt_ || (phase_ != Phase::Opening && phase_ != Phase::Live)) return {};
  stream_ended(why, now);
  return finish(now);
}

void Cache::fail_stream(const Status& why, Moment now) {
  actions_.emplace_back(Unsubscribe{attempt_});
  stream_ended(why, now);
}

void Cache::stream_ended(const Status& why, Moment now) {
  const bool lived = whole_since_ && now.time - *whole_since_ >= kShortLife;
  const std::string reason = fmt::format("the stream is down: {}", split_reason(why).message);
  for (KindState& kind : kinds_) {
    kind.stop_loading();
    kind.confirmed = false;
    if (why.code() == absl::StatusCode::kOutOfRange) kind.resumable = false;
    if (kind.live()) {
      view(kind).as_of = now.wall;
      kind.stale_at = now.time + kind.policy.max_staleness;
      set_source(kind, Source::Stale, {"HF1201", reason}, now);
    } else if (kind.why.code == "HF1206" || kind.why.code == "HF1201") {
      set_source(kind, kind.source, {"HF1201", reason}, now);
    }
  }
  first_try_over_ = true;
  if (lived) rushed_ = 0;
  if (may_hurry(why)) return subscribe(now);
  saved_.reset();  // whoever starts next may have the disk only
  phase_ = Phase::Waiting;
  deadline_ = now.time + retry_.next();
}

// A stream that moves, or that cannot go on from where the last one ended, is opened again at once,
// unless it does that all the time.
bool Cache::may_hurry(const Status& why) {
  const bool asked =
      why.code() == absl::StatusCode::kAborted || why.code() == absl::StatusCode::kOutOfRange;
  return asked && rushed_++ < kMaxRushed;
}

Status Cache::on_init(const v1::Event& init, Moment now) {
  TRY(const std::vector<events::WatchKind> confirmed,
      confirmed_by(init, watch_kinds(options_.kinds)));
  for (KindState& kind : kinds_) {
    kind.confirmed = contains(confirmed, watch_kind(kind.policy));
    if (kind.confirmed || !options_.strict) continue;
    return absl::FailedPreconditionError(
        fmt::format("the server does not offer kind {}", resource::info(kind.policy.kind).name));
  }
  phase_ = Phase::Live;
  stats_.inits += 1;
  // A server that begins anywhere else has not understood where to resume.
  if (asked_after_ != 0 && init.revision() == asked_after_) {
    stats_.resumes += 1;
  } else {
    newest_ = init.revision();
    for (KindState& kind : kinds_) kind.resumable = false;
  }
  begin(now);
  return absl::OkStatus();
}

// Kinds that the stream carries on with are fresh again, others that it confirms are fetched.
void Cache::begin(Moment now) {
  const bool resumed = std::ranges::any_of(
      kinds_, [](const KindState& kind) { return kind.resumable && kind.confirmed; });
  if (resumed) generation_ += 1;
  for (KindState& kind : kinds_) {
    if (!kind.confirmed) {
      drop(kind, now);
    } else if (kind.resumable) {
      view(kind).generation = generation_;
      set_source(kind, Source::Cache, {}, now);
      changed_ = true;
    } else {
      load(kind, /*together=*/true, now);
    }
  }
  swap_in(now);
  fetch_more();
}

Actions Cache::on_tick(Moment now) {
  if (phase_ == Phase::Waiting && now.time >= deadline_) subscribe(now);
  if (phase_ == Phase::Opening && now.time >= deadline_) {
    fail_stream(absl::DeadlineExceededError(
                    fmt::format("no Init within {}", to_short_string(options_.init_timeout))),
                now);
  }
  expire(now);
  if (phase_ == Phase::Live) retry_fetches(now);
  wake(fan_out_.on_tick(now.time));
  return finish(now);
}

std::optional<Time> Cache::next_deadline() const {
  if (phase_ == Phase::Stopped) return std::nullopt;
  std::optional<Time> earliest = fan_out_.next_deadline();
  const auto consider = [&](std::optional<Time> time) {
    if (time && (!earliest || *time < *earliest)) earliest = time;
  };
  if (phase_ == Phase::Waiting || phase_ == Phase::Opening) consider(deadline_);
  for (const KindState& kind : kinds_) {
    consider(kind.stale_at);
    if (phase_ == Phase::Live) consider(kind.retry_at);
  }
  consider(reclaim_at_);
  if (unsaved_ && saved_) consider(*saved_ + options_.save_every);
  return earliest;
}

}  // namespace holdfast::cache
