#include "ha/quarantine_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/private_file.h"
#include "base/reason.h"
#include "ha/quarantine.h"
#include "ha/quarantine_loader.h"
#include "ha/shipping.h"
#include "ha/whole_loader.h"

namespace holdfast::ha {
namespace {

constexpr size_t kBatchBytes = size_t{1} << 20;

// The file that a copy will overwrite, as it is now. The same history is kept once, however often
// a copy is begun.
asio::awaitable<Status> set_aside(store::Replica& replica, std::string folder, WallTime now) {
  const Head head = replica.facts().head;
  if (!find_whole_store(folder, head).empty()) co_return absl::OkStatus();
  Status kept = make_private_folder(folder);
  remove_unfinished_stores(folder);
  const std::string name = whole_store_name(now, head);
  if (kept.ok()) kept = co_await replica.back_up(folder + "/" + name);
  if (absl::IsUnimplemented(kept)) co_return absl::OkStatus();
  if (!kept.ok()) {
    co_return coded(absl::StatusCode::kResourceExhausted, "HF4119",
                    fmt::format("this half takes no copy before its own store is set aside, and "
                                "that fails: {}",
                                std::string(kept.message())));
  }
  log::warn("this half's history is not the pair's; its whole store was set aside",
            {{"file", name}, {"revision", head.revision}, {"epoch", head.epoch}});
  for (const std::string& old : trim_whole_stores(folder)) {
    log::warn("a store that was set aside before is removed: too many are kept", {{"file", old}});
  }
  co_return absl::OkStatus();
}

}  // namespace

asio::awaitable<Status> keep_lost(store::Replica& replica, store::ReplicaFacts winner,
                                  QuarantineOptions options, WallTime now) {
  const store::ReplicaFacts mine = replica.facts();
  // What was written before the first tenure was never the pair's.
  if (mine.tenures.empty()) co_return absl::OkStatus();
  Comparison found = compare({.head = mine.head, .tenures = mine.tenures},
                             {.head = winner.head, .tenures = winner.tenures});
  if (options.unfit) found = {Relation::Diverged, 0};
  const bool lost = found.relation == Relation::Diverged || found.relation == Relation::Ahead;
  if (!lost || found.fork >= mine.head.revision) co_return absl::OkStatus();
  CO_TRY_OK(co_await set_aside(replica, options.folder, now));
  std::vector<store::Entry> entries;
  size_t bytes = 0;
  // What the first tenure found there was before the pair.
  store::Revision after = std::max({found.fork, mine.floor, mine.tenures.front().first});
  while (after < mine.head.revision && bytes < QuarantineLimits{}.max_bytes) {
    Result<std::vector<store::Entry>> more = co_await replica.entries(after, kBatchBytes);
    if (!more.ok() || more->empty()) break;  // forgotten: the header says how many are missing
    after = more->back().head.revision;
    bytes += kBatchBytes;
    entries.insert(entries.end(), std::make_move_iterator(more->begin()),
                   std::make_move_iterator(more->end()));
  }
  const bool forgotten = entries.empty() || entries.front().head.revision <= found.fork;
  const store::Epoch first = forgotten ? mine.head.epoch : entries.front().head.epoch;
  const Quarantine kept = make_quarantine(
      {.node = options.node,
       .store_id = mine.store_id,
       .at = now,
       .fork = found.fork,
       .head = mine.head,
       .winner = winner.tenures.empty() ? winner.head.epoch : winner.tenures.back().epoch,
       .acknowledged = first <= options.acknowledged_through},
      entries);
  CO_TRY(const std::string name, save_quarantine(options.folder, kept));
  log::warn("this half's history is not the pair's; its end was put aside",
            {{"file", name}, {"fork", found.fork}, {"head", mine.head.revision}});
  co_return absl::OkStatus();
}

}  // namespace holdfast::ha
