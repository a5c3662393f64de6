#include "store/etcd_store.h"

#include <fmt/format.h>

#include <utility>

#include "base/bytes.h"
#include "store/etcd_errors.h"
#include "store/etcd_pages.h"
#include "store/etcd_txn.h"
#include "store/etcd_watch.h"

namespace holdfast::store {
namespace {

constexpr int kSnapshotTries = 3;

}  // namespace

EtcdStore::EtcdStore(const asio::any_io_executor& executor, const EtcdOptions& options,
                     const Clock& clock)
    : executor_(executor),
      options_(options),
      keys_(options.prefix),
      client_(executor, options, clock),
      committer_(executor, client_, keys_, options) {}

asio::awaitable<Result<Item>> EtcdStore::get(std::string key) {
  etcdserverpb::RangeRequest request;
  request.set_key(keys_.stored(key));
  CO_TRY(const auto response, co_await client_.ask(&EtcdKv::Range, request, client_.deadline()));
  committer_.saw(response.header().revision());
  if (response.kvs_size() == 0) {
    co_return absl::NotFoundError(fmt::format("no key {}", in_quotes(key)));
  }
  co_return decode_item(keys_, response.kvs(0));
}

asio::awaitable<Result<RangeResult>> EtcdStore::range(RangeRequest request) {
  for (int tries = 1;; ++tries) {
    auto result = co_await read_pages(request);
    if (!etcd_compacted(result.status())) co_return result;
    if (tries == kSnapshotTries) {
      co_return absl::UnavailableError("etcd was compacted while a long range was read");
    }
  }
}

asio::awaitable<Result<RangeResult>> EtcdStore::read_pages(const RangeRequest& request) {
  const KeyRange stored = keys_.stored_range(request.range);
  etcdserverpb::RangeRequest page;
  page.set_key(stored.begin);
  page.set_range_end(stored.end);
  EtcdPages pages;
  RangeResult result;
  for (;;) {
    const size_t missing = request.limit == 0 ? pages.limit() : request.limit - result.items.size();
    page.set_limit(static_cast<int64_t>(std::min(missing, pages.limit())));
    const auto response = co_await client_.ask(&EtcdKv::Range, page, client_.deadline());
    if (absl::IsResourceExhausted(response.status()) && pages.on_too_large()) continue;
    CO_TRY_OK(response.status());
    committer_.saw(response->header().revision());
    if (result.revision == 0) result.revision = response->header().revision();
    for (const auto& pair : response->kvs()) {
      if (is_foreign(pair)) continue;
      CO_TRY(Item item, decode_item(keys_, pair));
      result.items.push_back(std::move(item));
    }
    result.more = response->more();
    const bool enough = request.limit != 0 && result.items.size() >= request.limit;
    if (!result.more || enough || response->kvs_size() == 0) co_return result;
    pages.on_page(static_cast<size_t>(response->kvs_size()), response->ByteSizeLong());
    // The next page starts at the lowest key after this one, as the store was at the first page.
    page.set_key(response->kvs(response->kvs_size() - 1).key() + std::string(1, '\0'));
    page.set_revision(result.revision);
  }
}

asio::awaitable<Result<Revision>> EtcdStore::commit(std::vector<Operation> operations) {
  CO_TRY_OK(validate(operations, options_.limits));
  co_return co_await committer_.commit(std::move(operations));
}

asio::awaitable<Result<std::unique_ptr<Watch>>> EtcdStore::watch(KeyRange range, Revision after) {
  CO_TRY(const Revision now, co_await check_watchable(client_, keys_, after));
  committer_.saw(now);
  co_return std::make_unique<EtcdWatch>(executor_, client_, keys_, keys_.stored_range(range),
                                        after);
}

asio::awaitable<Result<size_t>> EtcdStore::expire(WallTime, size_t) {
  co_return 0;
}

asio::awaitable<Status> EtcdStore::compact(Revision through) {
  etcdserverpb::CompactionRequest request;
  request.set_revision(through);
  const auto response = co_await client_.ask(&EtcdKv::Compact, request, client_.deadline());
  // Compacted further than that already, perhaps by a first try whose answer was lost.
  if (etcd_compacted(response.status())) co_return absl::OkStatus();
  co_return response.status();
}

}  // namespace holdfast::store
