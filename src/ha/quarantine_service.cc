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
#include "store/sqlite_store_thread.h"

namespace holdfast::ha {
namespace {

constexpr size_t kBatchBytes = size_t{1} << 20;

Status not_set_aside(std::string_view why) {
  return coded(absl::StatusCode::kResourceExhausted, "HF4119",
               fmt::format("this half takes no copy before its own store is set aside, and that "
                           "fails: {}",
                           why));
}

// The file that a copy will overwrite, as it is now. The same history is kept once, however often
// a copy is begun. `needed`: there is something in it that is nowhere else.
asio::awaitable<Status> set_aside(store::Replica& replica, std::string folder, WallTime now,
                                  bool needed) {
  const Head head = replica.facts().head;
  if (!find_whole_store(folder, head).empty()) co_return absl::OkStatus();
  if (needed && needed_whole_stores(folder).size() >= kMaxNeededStores) {
    co_return not_set_aside(
        fmt::format("{} whole stores wait for a decision already, and none may go by itself: see "
                    "`holdfast ha divergence`, and discard one",
                    kMaxNeededStores));
  }
  Status kept = make_private_folder(folder);
  remove_unfinished_stores(folder);
  const std::string name = whole_store_name(now, head);
  if (kept.ok()) kept = co_await replica.back_up(folder + "/" + name);
  if (absl::IsUnimplemented(kept)) co_return absl::OkStatus();
  if (!kept.ok()) co_return not_set_aside(std::string(kept.message()));
  log::warn("this half's history is not the pair's; its whole store was set aside",
            {{"file", name}, {"revision", head.revision}, {"epoch", head.epoch}});
  co_return absl::OkStatus();
}

asio::awaitable<std::vector<store::Entry>> entries_after(store::Replica& replica,
                                                         store::Revision after) {
  std::vector<store::Entry> entries;
  size_t bytes = 0;
  while (after < replica.facts().head.revision && bytes < QuarantineLimits{}.max_bytes) {
    Result<std::vector<store::Entry>> more = co_await replica.entries(after, kBatchBytes);
    if (!more.ok() || more->empty()) break;  // forgotten: the header says how many are missing
    after = more->back().head.revision;
    bytes += kBatchBytes;
    entries.insert(entries.end(), std::make_move_iterator(more->begin()),
                   std::make_move_iterator(more->end()));
  }
  co_return entries;
}

struct Written {
  std::string text;
  bool incomplete = true;  // it lacks something that was lost
};

Written write_down(QuarantineHeader header, const std::vector<store::Entry>& entries) {
  Written written{.text = to_text(make_quarantine(std::move(header), entries))};
  const std::string_view text = written.text;
  const Result<QuarantineHeader> said = parse_quarantine_header(text.substr(0, text.find('\n')));
  written.incomplete = !said.ok() || said->left_out > 0;
  return written;
}

}  // namespace

asio::awaitable<Status> keep_lost(store::Replica& replica, store::ReplicaFacts winner,
                                  QuarantineOptions options, WallTime now,
                                  asio::thread_pool& worker) {
  const store::ReplicaFacts mine = replica.facts();
  // What was written before the first tenure was never the pair's.
  if (mine.tenures.empty()) co_return absl::OkStatus();
  Comparison found = compare({.head = mine.head, .tenures = mine.tenures},
                             {.head = winner.head, .tenures = winner.tenures});
  if (options.unfit) found = {Relation::Diverged, 0};
  const bool lost = found.relation == Relation::Diverged || found.relation == Relation::Ahead;
  if (!lost || found.fork >= mine.head.revision) co_return absl::OkStatus();
  // What the first tenure found there was before the pair.
  std::vector<store::Entry> entries = co_await entries_after(
      replica, std::max({found.fork, mine.floor, mine.tenures.front().first}));
  const QuarantineHeader header{
      .node = options.node,
      .store_id = mine.store_id,
      .at = now,
      .fork = found.fork,
      .head = mine.head,
      .winner = winner.tenures.empty() ? winner.head.epoch : winner.tenures.back().epoch,
      .acknowledged = options.unfit ||
                      may_be_acknowledged(mine, winner, found.fork, options.acknowledged_through)};
  Written written = co_await store::run_on<Written>(
      worker, [header, entries = std::move(entries)] { return write_down(header, entries); });
  // Of a few changes that nobody was told of, and that are all in the file, no more is kept: a half
  // that crashes again and again would fill its disk.
  if (written.incomplete || header.acknowledged) {
    CO_TRY_OK(co_await set_aside(replica, options.folder, now, written.incomplete));
  }
  CO_TRY(const std::string name,
         co_await store::run_on<Result<std::string>>(
             worker, [folder = options.folder, header, text = std::move(written.text)] {
               return save_quarantine(folder, header, text);
             }));
  log::warn("this half's history is not the pair's; its end was put aside",
            {{"file", name}, {"fork", found.fork}, {"head", mine.head.revision}});
  // Only now is it known on disk which of them is needed.
  for (const std::string& old :
       trim_whole_stores(options.folder, needed_whole_stores(options.folder))) {
    log::warn(
        "a store that was set aside before is removed: all it lost is in its file, and too "
        "many are kept",
        {{"file", old}});
  }
  co_return absl::OkStatus();
}

}  // namespace holdfast::ha
