#include "api/divergence_service.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "api/resource_service.h"
#include "api/revocation_service.h"
#include "base/reason.h"
#include "ha/quarantine_loader.h"
#include "ha/whole_loader.h"
#include "ha/wire.h"
#include "resource/codec.h"
#include "resource/field_path.h"
#include "resource/proto_time.h"
#include "resource/registry.h"
#include "store/sqlite_store_thread.h"

namespace holdfast::api {
namespace {

constexpr size_t kMaxChanges = 500;

using store::Change;

// What people wrote. Nodes announce themselves again, leases are dealt again, and the records of
// requests are of no use without the answers.
bool is_of_people(const std::string& key) {
  const std::optional<resource::StoreKey> parsed = resource::parse_store_key(key);
  return parsed && !resource::info(parsed->kind).is_presence &&
         parsed->kind != resource::Kind::CapacityLease;
}

std::vector<Change> changes_of(ha::Quarantine quarantine) {
  std::vector<Change> changes;
  for (store::Entry& entry : quarantine.entries) {
    for (Change& change : entry.changes) {
      if (!is_of_people(change.item.key)) continue;
      change.item.revision = entry.head.revision;
      changes.push_back(std::move(change));
    }
  }
  return changes;
}

std::vector<Change> none_of(std::vector<Change> /*changes*/) {
  return {};
}

std::vector<Change> page_of(std::vector<Change> changes, uint64_t after, size_t limit) {
  const auto begin = changes.begin() + static_cast<ptrdiff_t>(std::min(after, changes.size()));
  const size_t left = static_cast<size_t>(changes.end() - begin);
  const auto end = begin + static_cast<ptrdiff_t>(std::min(limit, left));
  return {std::make_move_iterator(begin), std::make_move_iterator(end)};
}

// The last of each key is what it was.
std::vector<Change> last_of_each_key(std::vector<Change> changes) {
  std::map<std::string, Change> last;
  for (Change& change : changes) {
    const std::string key = change.item.key;
    last.insert_or_assign(key, std::move(change));
  }
  std::vector<Change> list;
  list.reserve(last.size());
  for (auto& [key, change] : last) list.push_back(std::move(change));
  return list;
}

v1::DivergenceFile describe(const std::string& folder, const std::string& name,
                            const ha::Quarantine& quarantine) {
  const ha::QuarantineHeader& header = quarantine.header;
  v1::DivergenceFile file;
  file.set_file(name);
  *file.mutable_at() = resource::to_proto(header.at);
  file.set_half(header.node);
  file.set_reason(ha::summary(quarantine));
  file.mutable_fork()->set_revision(header.fork);
  *file.mutable_head() = ha::to_proto(header.head);
  file.set_entries(header.entries);
  const std::string whole = ha::find_whole_store(folder, header.head);
  if (!whole.empty()) file.set_whole_store(folder + "/" + whole);
  if (whole.empty() && header.left_out > 0) file.set_reason(file.reason() + ", which is gone");
  return file;
}

// As an operator may see it; what is no resource is not shown.
std::string shown(const store::Item& item) {
  const Result<v1::Resource> resource = decode_item(item);
  return resource.ok() ? resource::to_yaml(resource::without_secrets(*resource)) : "";
}

std::string shown_key(const std::string& key) {
  return key.starts_with('/') ? key.substr(1) : key;
}

bool is_same(const Change& change, const std::optional<store::Item>& current) {
  const bool removed = change.type == Change::Type::Delete;
  return removed ? !current : current && current->value == change.item.value;
}

// Nobody but us writes it in between.
store::Operation to_operation(const Change& change, const std::optional<store::Item>& current) {
  const bool removed = change.type == Change::Type::Delete;
  return {.type = removed ? store::Operation::Type::Delete : store::Operation::Type::Put,
          .key = change.item.key,
          .value = change.item.value,
          .expires = change.item.expires,
          .precondition = current ? store::Precondition::Revision : store::Precondition::Absent,
          .revision = current ? current->revision : 0};
}

bool is_conflict(const Status& status) {
  return absl::IsAborted(status) || absl::IsAlreadyExists(status) || absl::IsNotFound(status);
}

}  // namespace

DivergenceService::Lost DivergenceService::lost_of(const ha::Quarantine& quarantine) {
  Lost lost{.fork = quarantine.header.fork};
  if (!quarantine.header.acknowledged) return lost;
  for (ha::Revocation& one : ha::revocations(quarantine, revocation_rules())) {
    lost.taken_away.insert(std::move(one.key));
  }
  return lost;
}

Result<DivergenceService::Opened> DivergenceService::read(const std::string& folder,
                                                          const std::string& file,
                                                          const Pick& pick) {
  TRY(ha::Quarantine quarantine, ha::load_quarantine(folder, file));
  Opened opened{.file = describe(folder, file, quarantine),
                .lost = lost_of(quarantine),
                .changes = {},
                .left_out = quarantine.header.left_out};
  const bool done = ha::is_gone_through(folder, file);
  opened.file.set_reapplied(done ? opened.lost.taken_away.size() : 0);
  std::vector<Change> changes = changes_of(std::move(quarantine));
  opened.file.set_changes(changes.size());
  opened.changes = pick(std::move(changes));
  return opened;
}

// A file of 64 MiB takes seconds: a loop that stops for that long loses its lease.
asio::awaitable<Result<DivergenceService::Opened>> DivergenceService::open(std::string file,
                                                                           Pick pick) {
  co_return co_await store::run_on<Result<Opened>>(
      parts_.worker, [folder = parts_.folder, file = std::move(file), pick = std::move(pick)] {
        return read(folder, file, pick);
      });
}

uint32_t DivergenceService::count() const {
  if (parts_.folder.empty()) return 0;
  return static_cast<uint32_t>(ha::quarantine_files(parts_.folder).size());
}

asio::awaitable<Result<v1::ListDivergencesResponse>> DivergenceService::list(
    Caller /*caller*/, v1::ListDivergencesRequest /*request*/) {
  v1::ListDivergencesResponse response;
  if (parts_.folder.empty()) co_return response;
  for (const std::string& name : ha::quarantine_files(parts_.folder)) {
    const Result<Opened> opened = co_await open(name, none_of);
    if (absl::IsNotFound(opened.status())) continue;  // discarded meanwhile
    v1::DivergenceFile& file = *response.add_files();
    if (opened.ok()) {
      file = opened->file;
    } else {
      file.set_file(name);
      file.set_reason(std::string(opened.status().message()));
    }
  }
  co_return response;
}

asio::awaitable<Result<DivergenceService::Compared>> DivergenceService::compare(Change change,
                                                                                const Lost& lost) {
  const Result<store::Item> found = co_await parts_.reads.get(change.item.key);
  if (!found.ok() && !absl::IsNotFound(found.status())) co_return found.status();
  const std::optional<store::Item> current = found.ok() ? std::optional(*found) : std::nullopt;
  Compared compared{.change = {}, .operation = to_operation(change, current)};
  v1::DivergedChange& made = compared.change;
  made.set_key(shown_key(change.item.key));
  made.set_removed(change.type == Change::Type::Delete);
  made.mutable_head()->set_revision(change.item.revision);
  if (!made.removed()) made.set_lost(shown(change.item));
  if (current) made.set_current(shown(*current));
  // To remove it is to write it, too.
  const bool removed_since =
      !current && !made.removed() && change.item.created_revision <= lost.fork;
  const bool written_since = removed_since || (current && current->revision > lost.fork);
  const bool same = is_same(change, current);
  const bool reapplied = same && lost.taken_away.contains(change.item.key);
  made.set_standing(reapplied       ? v1::DivergedChange::STANDING_REAPPLIED
                    : same          ? v1::DivergedChange::STANDING_SAME
                    : written_since ? v1::DivergedChange::STANDING_CONFLICT
                                    : v1::DivergedChange::STANDING_LOST);
  co_return compared;
}

asio::awaitable<Result<v1::Divergence>> DivergenceService::get(Caller /*caller*/,
                                                               v1::GetDivergenceRequest request) {
  const uint64_t after = request.after();
  const size_t limit =
      request.limit() == 0 ? kMaxChanges : std::min<size_t>(request.limit(), kMaxChanges);
  const auto page = [after, limit](std::vector<Change> changes) {
    return page_of(std::move(changes), after, limit);
  };
  CO_TRY(const Opened opened, co_await open(request.file(), page));
  v1::Divergence response;
  *response.mutable_file() = opened.file;
  for (const Change& change : opened.changes) {
    CO_TRY(Compared compared, co_await compare(change, opened.lost));
    *response.add_changes() = std::move(compared.change);
  }
  const uint64_t end = after + opened.changes.size();
  if (!opened.changes.empty() && end < opened.file.changes()) response.set_next(end);
  co_return response;
}

asio::awaitable<Result<v1::ResolveDivergenceResponse>> DivergenceService::replay(Opened opened,
                                                                                 bool overwrite) {
  v1::ResolveDivergenceResponse response;
  for (Change& change : opened.changes) {
    const std::string key = change.item.key;
    CO_TRY(Compared compared, co_await compare(std::move(change), opened.lost));
    using v1::DivergedChange;
    const DivergedChange::Standing standing = compared.change.standing();
    const bool done =
        standing == DivergedChange::STANDING_SAME || standing == DivergedChange::STANDING_REAPPLIED;
    if (done) continue;
    Status written = absl::AbortedError("somebody has written it since");
    if (standing == DivergedChange::STANDING_LOST || overwrite) {
      written = co_await parts_.writes->write(std::move(compared.operation));
    }
    if (!written.ok() && !is_conflict(written)) co_return annotate(written, key);
    if (written.ok()) response.set_written(response.written() + 1);
    if (!written.ok()) response.set_skipped(response.skipped() + 1);
  }
  co_return response;
}

asio::awaitable<Result<v1::ResolveDivergenceResponse>> DivergenceService::resolve(
    Caller caller, v1::ResolveDivergenceRequest request) {
  v1::ResolveDivergenceResponse response;
  uint64_t left_out = 0;
  if (request.way() == v1::ResolveDivergenceRequest::WAY_REPLAY) {
    CO_TRY(Opened opened, co_await open(request.file(), last_of_each_key));
    left_out = opened.left_out;
    CO_TRY(response, co_await replay(std::move(opened), request.overwrite()));
    parts_.audit.change(record_of(caller, "replay-divergence", request.file()));
  } else if (request.way() != v1::ResolveDivergenceRequest::WAY_DISCARD) {
    CO_TRY_OK(ha::load_quarantine_header(parts_.folder, request.file()).status());
    co_return absl::InvalidArgumentError("way: discard or replay");
  }
  // What is in the whole store alone is not written by a replay: it stays listed until somebody
  // gives it up.
  response.set_kept(response.skipped() > 0 || left_out > 0);
  if (response.kept()) co_return response;
  const bool discards = request.way() == v1::ResolveDivergenceRequest::WAY_DISCARD;
  const auto known = ha::load_quarantine_header(parts_.folder, request.file());
  if (discards && known.ok()) ha::discard_whole_store(parts_.folder, known->head);
  CO_TRY_OK(ha::discard_quarantine(parts_.folder, request.file()));
  parts_.audit.change(record_of(caller, "discard-divergence", request.file()));
  co_return response;
}

}  // namespace holdfast::api
