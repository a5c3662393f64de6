#include "cache/reads_service.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "cache/published.h"
#include "resource/field_path.h"
#include "resource/registry.h"

namespace holdfast::cache {
namespace {

// While there is nothing to fall back on, upstream's own deadline decides.
constexpr Duration kAsLongAsItTakes = std::chrono::hours(1);
// What an answer takes beside its resources.
constexpr size_t kSmallestAnswer = 256;

std::string name_of(resource::Kind kind) {
  return std::string(resource::info(kind).name);
}

// The same bytes for the same request, whatever the order of its labels.
std::string key_of(const google::protobuf::MessageLite& request) {
  std::string key;
  google::protobuf::io::StringOutputStream stream(&key);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  request.SerializeToCodedStream(&coded);
  coded.Trim();
  return key;
}

}  // namespace

class ReadsService::Inside {
 public:
  explicit Inside(ReadsService& reads) : reads_(reads) { reads_.inside_ += 1; }
  ~Inside() {
    reads_.inside_ -= 1;
    if (reads_.inside_ == 0) reads_.left_.cancel();
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  ReadsService& reads_;
};

ReadsService::ReadsService(const asio::any_io_executor& loop, const Clock& clock, Cache& cache,
                           Upstream& upstream, ReadOptions options)
    : clock_(clock),
      cache_(cache),
      upstream_(upstream),
      options_(options),
      listings_(options.listing),
      gets_(loop, clock, options.memo),
      pages_(loop, clock, options.memo),
      alls_(loop, clock, options.memo),
      left_(loop, asio::steady_timer::time_point::max()) {}

// A table that was filled without secrets cannot answer for them.
bool ReadsService::has_last_good(MaybeKind kind, bool with_secrets) const {
  const KindPolicy* policy = kind ? cache_.policy(*kind) : nullptr;
  if (policy == nullptr || view(*kind).as_of == WallTime{}) return false;
  return !with_secrets || policy->with_secrets || resource::info(*kind).secret_paths.empty();
}

bool ReadsService::is_readable(MaybeKind kind, bool with_secrets) const {
  return has_last_good(kind, with_secrets) && view(*kind).source != Source::Upstream;
}

bool ReadsService::must_hide_secrets(resource::Kind kind, bool with_secrets) const {
  return !with_secrets && !resource::info(kind).secret_paths.empty() &&
         cache_.policy(kind)->with_secrets;
}

bool ReadsService::falls_back(MaybeKind kind, bool with_secrets, const Status& status) const {
  const bool gone = absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
  return gone && has_last_good(kind, with_secrets) && cache_.policy(*kind)->fail_static;
}

Duration ReadsService::patience(MaybeKind kind, bool with_secrets) const {
  const bool has_another = falls_back(kind, with_secrets, absl::UnavailableError(""));
  return has_another ? options_.fallback_wait : kAsLongAsItTakes;
}

template <typename T>
Result<T> ReadsService::settled(const std::shared_ptr<const Result<T>>& answer) const {
  if (answer != nullptr) return *answer;
  if (closed_) return absl::CancelledError("the cache has stopped");
  return absl::DeadlineExceededError("upstream did not answer in time");
}

template <typename T>
Read<T> ReadsService::from_table(resource::Kind kind, T value) {
  const KindView& seen = view(kind);
  if (seen.source == Source::Cache) {
    from_table_ += 1;
    return {.value = std::move(value), .source = Source::Cache, .age = Duration(0)};
  }
  (seen.source == Source::Stale ? from_table_ : from_last_good_) += 1;
  const Duration age = clock_.wall_now() - seen.as_of;
  return {.value = std::move(value), .source = Source::Stale, .age = std::max(age, Duration(0))};
}

Result<Read<Shared>> ReadsService::one_from_table(resource::Kind kind, const std::string& name) {
  Shared found = view(kind).items.share(name);
  Read<Shared> read = from_table(kind, std::move(found));
  if (read.value == nullptr) {
    return absl::NotFoundError(fmt::format("there is no {} {}", name_of(kind), in_quotes(name)));
  }
  return read;
}

Read<ReadsService::Many> ReadsService::all_from_table(resource::Kind kind) {
  Many many;
  many.reserve(view(kind).items.size());
  view(kind).items.for_each([&](const Shared& resource) {
    many.push_back(resource);
    return true;
  });
  return from_table(kind, std::move(many));
}

Result<Read<v1::ListResponse>> ReadsService::page_from_table(resource::Kind kind,
                                                             const v1::ListRequest& request) {
  const Listings::Asked asked{.kind = kind,
                              .request = request,
                              .hide_secrets = must_hide_secrets(kind, request.with_secrets())};
  TRY(v1::ListResponse page, listings_.page(view(kind), asked, clock_.now()));
  return from_table(kind, std::move(page));
}

asio::awaitable<Loaded<Result<Shared>>> ReadsService::load_one(v1::GetRequest request) {
  Result<v1::Resource> got = co_await upstream_.get(std::move(request));
  from_upstream_[got.status().code()] += 1;
  if (!got.ok()) co_return Loaded<Result<Shared>>{got.status(), kSmallestAnswer};
  const size_t bytes = kSmallestAnswer + got->ByteSizeLong();
  co_return Loaded<Result<Shared>>{std::make_shared<const v1::Resource>(*std::move(got)), bytes};
}

asio::awaitable<Loaded<Result<v1::ListResponse>>> ReadsService::load_page(v1::ListRequest request) {
  Result<v1::ListResponse> got = co_await upstream_.list(std::move(request));
  from_upstream_[got.status().code()] += 1;
  const size_t bytes = kSmallestAnswer + (got.ok() ? got->ByteSizeLong() : 0);
  co_return Loaded<Result<v1::ListResponse>>{std::move(got), bytes};
}

asio::awaitable<Loaded<Result<ReadsService::Many>>> ReadsService::load_all(resource::Kind kind) {
  const KindPolicy* policy = cache_.policy(kind);
  v1::ListRequest request;
  request.set_kind(name_of(kind));
  request.set_with_secrets(policy != nullptr && policy->with_secrets);
  Loaded<Result<Many>> all{Many(), 0};
  for (size_t pages = 0; pages <= options_.max_items; ++pages) {
    Loaded<Result<v1::ListResponse>> page = co_await load_page(request);
    if (!page.value.ok()) co_return Loaded<Result<Many>>{page.value.status(), page.bytes};
    all.bytes += page.bytes;
    for (v1::Resource& resource : *page.value->mutable_resources()) {
      all.value->push_back(std::make_shared<const v1::Resource>(std::move(resource)));
    }
    if (page.value->next_page_token().empty()) co_return all;
    if (all.value->size() > options_.max_items) break;
    request.set_page_token(page.value->next_page_token());
  }
  all = {absl::ResourceExhaustedError(
             fmt::format("more than {} resources of kind {}", options_.max_items, name_of(kind))),
         kSmallestAnswer};
  co_return all;
}

asio::awaitable<Result<Read<Shared>>> ReadsService::one_from_upstream(v1::GetRequest request,
                                                                      MaybeKind kind) {
  const bool with_secrets = request.with_secrets();
  const auto answer = co_await gets_.ask(
      key_of(request), [this, request] { return load_one(request); }, patience(kind, with_secrets));
  Result<Shared> got = settled(answer);
  if (got.ok()) co_return Read<Shared>{*std::move(got), Source::Upstream, Duration(0)};
  if (falls_back(kind, with_secrets, got.status())) co_return one_from_table(*kind, request.name());
  co_return got.status();
}

asio::awaitable<Result<Read<Shared>>> ReadsService::one(resource::Kind kind, std::string name) {
  const Inside inside(*this);
  const KindPolicy* policy = cache_.policy(kind);
  const bool with_secrets = policy != nullptr && policy->with_secrets;
  if (is_readable(kind, with_secrets)) co_return one_from_table(kind, name);
  v1::GetRequest request;
  request.set_kind(name_of(kind));
  request.set_name(std::move(name));
  request.set_with_secrets(with_secrets);
  co_return co_await one_from_upstream(std::move(request), kind);
}

asio::awaitable<Result<Read<ReadsService::Many>>> ReadsService::all(resource::Kind kind) {
  const Inside inside(*this);
  const KindPolicy* policy = cache_.policy(kind);
  const bool with_secrets = policy != nullptr && policy->with_secrets;
  if (is_readable(kind, with_secrets)) co_return all_from_table(kind);
  const auto answer = co_await alls_.ask(
      name_of(kind), [this, kind] { return load_all(kind); }, patience(kind, with_secrets));
  Result<Many> got = settled(answer);
  if (got.ok()) co_return Read<Many>{*std::move(got), Source::Upstream, Duration(0)};
  if (falls_back(kind, with_secrets, got.status())) co_return all_from_table(kind);
  co_return got.status();
}

asio::awaitable<Result<Read<v1::Resource>>> ReadsService::get(v1::GetRequest request) {
  const Inside inside(*this);
  const MaybeKind kind = resource::kind_named(request.kind());
  const bool with_secrets = request.with_secrets();
  Result<Read<Shared>> got = absl::UnknownError("");
  if (is_readable(kind, with_secrets)) {
    got = one_from_table(*kind, request.name());
  } else {
    got = co_await one_from_upstream(std::move(request), kind);
  }
  if (!got.ok()) co_return got.status();
  Read<v1::Resource> read{*got->value, got->source, got->age};
  const bool from_table = got->source != Source::Upstream;
  if (from_table && must_hide_secrets(*kind, with_secrets)) {
    read.value = resource::without_secrets(std::move(read.value));
  }
  co_return read;
}

asio::awaitable<Result<Read<v1::ListResponse>>> ReadsService::list(v1::ListRequest request) {
  const Inside inside(*this);
  const MaybeKind kind = resource::kind_named(request.kind());
  const bool with_secrets = request.with_secrets();
  if (is_readable(kind, with_secrets)) co_return page_from_table(*kind, request);
  const auto answer = co_await pages_.ask(
      key_of(request), [this, request] { return load_page(request); },
      patience(kind, with_secrets));
  Result<v1::ListResponse> got = settled(answer);
  if (got.ok()) co_return Read<v1::ListResponse>{*std::move(got), Source::Upstream, Duration(0)};
  if (falls_back(kind, with_secrets, got.status())) co_return page_from_table(*kind, request);
  co_return got.status();
}

void ReadsService::tidy_up() {
  gets_.tidy_up();
  pages_.tidy_up();
  alls_.tidy_up();
  listings_.on_tick(clock_.now());
}

bool ReadsService::reclaim() {
  return listings_.reclaim(kReclaimedAtOnce);
}

void ReadsService::close() {
  closed_ = true;
  gets_.close();
  pages_.close();
  alls_.close();
}

asio::awaitable<void> ReadsService::join() {
  co_await gets_.join();
  co_await pages_.join();
  co_await alls_.join();
  while (inside_ > 0) co_await left_.async_wait(asio::as_tuple(asio::use_awaitable));
}

ReadStats ReadsService::stats() const {
  ReadStats all{.from_table = from_table_,
                .from_last_good = from_last_good_,
                .from_upstream = from_upstream_,
                .memo = {},
                .listings_dropped = listings_.dropped()};
  for (const MemoStats& one : {gets_.stats(), pages_.stats(), alls_.stats()}) {
    all.memo.loads += one.loads;
    all.memo.joined += one.joined;
    all.memo.remembered += one.remembered;
    all.memo.dropped += one.dropped;
    all.memo.without_memo += one.without_memo;
  }
  return all;
}

}  // namespace holdfast::cache
