// Where a read is answered: from the table if the kind is cached, else from upstream, once for all
// who ask at the same time, remembered for a second. If upstream is gone too, by the last good
// table, which says its age.
//
//   cached, or stale within its bound ──► table
//   else ──► memo ──► upstream ──► its answer, for this caller
//                        └─ gone ──► last good table (fail_static) ──► else its failure
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "cache/cache.h"
#include "cache/listings.h"
#include "cache/memo_service.h"
#include "cache/upstream.h"

namespace holdfast::cache {

// What was read, and where.
template <typename T>
struct Read {
  T value;
  Source source = Source::Cache;
  Duration age{0};  // of a stale answer: since it was last known to be whole
};

struct ReadOptions {
  MemoOptions memo = {};
  ListingOptions listing = {};
  // How long upstream is waited for when there is a last good table to fall back on. The load goes
  // on behind it, and its answer is remembered for who asks next.
  Duration fallback_wait = std::chrono::milliseconds(300);
  size_t max_items = 1'000'000;  // of a kind that is read as a whole from upstream
};

struct ReadStats {
  uint64_t from_table = 0;
  uint64_t from_last_good = 0;                         // upstream was gone too
  std::map<absl::StatusCode, uint64_t> from_upstream;  // calls, by what became of them
  MemoStats memo;                                      // of all kinds of reads
  uint64_t listings_dropped = 0;                       // before they were read to their end
};

// Belongs to one executor.
class ReadsService {
 public:
  ReadsService(const asio::any_io_executor& loop, const Clock& clock, Cache& cache,
               Upstream& upstream, ReadOptions options);

  using Many = std::vector<Shared>;
  asio::awaitable<Result<Read<Shared>>> one(resource::Kind kind, std::string name);
  asio::awaitable<Result<Read<Many>>> all(resource::Kind kind);
  asio::awaitable<Result<Read<v1::Resource>>> get(v1::GetRequest request);
  asio::awaitable<Result<Read<v1::ListResponse>>> list(v1::ListRequest request);

  // Forgets what is old; call it now and then.
  void tidy_up();
  // Frees a slice of what was forgotten; true once nothing is left.
  bool reclaim();
  // Answers who waits with kCancelled.
  void close();
  // Ends what is being loaded and waits until nobody is in here. Requires: close() before.
  asio::awaitable<void> join();
  ReadStats stats() const;

 private:
  // Someone is in one of the calls above.
  class Inside;
  using MaybeKind = std::optional<resource::Kind>;  // absent: one this version does not know

  const KindView& view(resource::Kind kind) const { return cache_.current().of(kind); }
  bool is_readable(MaybeKind kind, bool with_secrets) const;
  bool has_last_good(MaybeKind kind, bool with_secrets) const;
  bool must_hide_secrets(resource::Kind kind, bool with_secrets) const;
  // What upstream said, or that it said nothing.
  template <typename T>
  Result<T> settled(const std::shared_ptr<const Result<T>>& answer) const;
  bool falls_back(MaybeKind kind, bool with_secrets, const Status& status) const;
  Duration patience(MaybeKind kind, bool with_secrets) const;
  template <typename T>
  Read<T> from_table(resource::Kind kind, T value);

  Result<Read<Shared>> one_from_table(resource::Kind kind, const std::string& name);
  Read<Many> all_from_table(resource::Kind kind);
  Result<Read<v1::ListResponse>> page_from_table(resource::Kind kind,
                                                 const v1::ListRequest& request);
  asio::awaitable<Result<Read<Shared>>> one_from_upstream(v1::GetRequest request, MaybeKind kind);
  asio::awaitable<Loaded<Result<Shared>>> load_one(v1::GetRequest request);
  asio::awaitable<Loaded<Result<v1::ListResponse>>> load_page(v1::ListRequest request);
  asio::awaitable<Loaded<Result<Many>>> load_all(resource::Kind kind);

  const Clock& clock_;
  Cache& cache_;
  Upstream& upstream_;
  const ReadOptions options_;
  Listings listings_;
  MemoService<Result<Shared>> gets_;
  MemoService<Result<v1::ListResponse>> pages_;
  MemoService<Result<Many>> alls_;
  bool closed_ = false;
  size_t inside_ = 0;
  asio::steady_timer left_;  // cancelled when the last one leaves
  uint64_t from_table_ = 0;
  uint64_t from_last_good_ = 0;
  std::map<absl::StatusCode, uint64_t> from_upstream_;
};

}  // namespace holdfast::cache
