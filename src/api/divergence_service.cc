#include "api/divergence_service.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "api/resource_service.h"
#include "base/reason.h"
#include "ha/quarantine_loader.h"
#include "ha/wire.h"
#include "resource/codec.h"
#include "resource/field_path.h"
#include "resource/proto_time.h"
#include "resource/registry.h"

namespace holdfast::api {
namespace {

constexpr size_t kMaxChanges = 500;

using store::Change;

std::vector<Change> changes_of(const ha::Quarantine& quarantine) {
  std::vector<Change> changes;
  for (const store::Entry& entry : quarantine.entries) {
    for (Change change : entry.changes) {
      change.item.revision = entry.head.revision;
      changes.push_back(std::move(change));
    }
  }
  return changes;
}

v1::DivergenceFile describe(const std::string& name, const ha::Quarantine& quarantine) {
  const ha::QuarantineHeader& header = quarantine.header;
  v1::DivergenceFile file;
  file.set_file(name);
  *file.mutable_at() = resource::to_proto(header.at);
  file.set_half(header.node);
  file.set_reason(ha::summary(quarantine));
  file.mutable_fork()->set_revision(header.fork);
  *file.mutable_head() = ha::to_proto(header.head);
  file.set_entries(header.entries);
  file.set_changes(changes_of(quarantine).size());
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

}  // namespace

uint32_t DivergenceService::count() const {
  if (parts_.folder.empty()) return 0;
  return static_cast<uint32_t>(ha::quarantine_files(parts_.folder).size());
}

Result<ha::Quarantine> DivergenceService::load(const std::string& file) const {
  return ha::load_quarantine(parts_.folder, file);
}

asio::awaitable<Result<v1::ListDivergencesResponse>> DivergenceService::list(
    Caller /*caller*/, v1::ListDivergencesRequest /*request*/) {
  v1::ListDivergencesResponse response;
  if (parts_.folder.empty()) co_return response;
  for (const std::string& name : ha::quarantine_files(parts_.folder)) {
    const Result<ha::Quarantine> quarantine = load(name);
    if (quarantine.ok()) {
      *response.add_files() = describe(name, *quarantine);
    } else {
      v1::DivergenceFile& file = *response.add_files();
      file.set_file(name);
      file.set_reason(std::string(quarantine.status().message()));
    }
  }
  co_return response;
}

asio::awaitable<Result<v1::DivergedChange>> DivergenceService::compare(Change change,
                                                                       store::Revision fork) {
  const Result<store::Item> found = co_await parts_.reads.get(change.item.key);
  if (!found.ok() && !absl::IsNotFound(found.status())) co_return found.status();
  const std::optional<store::Item> current = found.ok() ? std::optional(*found) : std::nullopt;
  v1::DivergedChange made;
  made.set_key(shown_key(change.item.key));
  made.set_removed(change.type == Change::Type::Delete);
  made.mutable_head()->set_revision(change.item.revision);
  if (!made.removed()) made.set_lost(shown(change.item));
  if (current) made.set_current(shown(*current));
  const bool written_since = current && current->revision > fork;
  made.set_standing(is_same(change, current) ? v1::DivergedChange::STANDING_SAME
                    : written_since          ? v1::DivergedChange::STANDING_CONFLICT
                                             : v1::DivergedChange::STANDING_LOST);
  co_return made;
}

asio::awaitable<Result<v1::Divergence>> DivergenceService::get(Caller /*caller*/,
                                                               v1::GetDivergenceRequest request) {
  CO_TRY(const ha::Quarantine quarantine, load(request.file()));
  const std::vector<Change> changes = changes_of(quarantine);
  v1::Divergence response;
  *response.mutable_file() = describe(request.file(), quarantine);
  const size_t limit = request.limit() == 0 ? kMaxChanges : request.limit();
  size_t at = std::min<size_t>(request.after(), changes.size());
  const size_t end = std::min(changes.size(), at + std::min(limit, kMaxChanges));
  for (; at < end; ++at) {
    CO_TRY(*response.add_changes(), co_await compare(changes[at], quarantine.header.fork));
  }
  if (end < changes.size()) response.set_next(end);
  co_return response;
}

asio::awaitable<Result<v1::ResolveDivergenceResponse>> DivergenceService::replay(
    ha::Quarantine quarantine, bool overwrite) {
  // The last of each key is what it was.
  std::map<std::string, Change> last;
  for (Change& change : changes_of(quarantine)) {
    const std::string key = change.item.key;
    last.insert_or_assign(key, std::move(change));
  }
  v1::ResolveDivergenceResponse response;
  for (auto& [key, change] : last) {
    CO_TRY(const v1::DivergedChange compared, co_await compare(change, quarantine.header.fork));
    if (compared.standing() == v1::DivergedChange::STANDING_SAME) continue;
    if (compared.standing() == v1::DivergedChange::STANDING_CONFLICT && !overwrite) {
      response.set_skipped(response.skipped() + 1);
      continue;
    }
    store::Operation operation;
    const bool removed = change.type == Change::Type::Delete;
    operation.type = removed ? store::Operation::Type::Delete : store::Operation::Type::Put;
    operation.key = key;
    operation.value = change.item.value;
    operation.expires = change.item.expires;
    std::vector<store::Operation> operations;
    operations.push_back(std::move(operation));
    CO_TRY_OK((co_await parts_.writes.commit(std::move(operations))).status());
    response.set_written(response.written() + 1);
  }
  co_return response;
}

asio::awaitable<Result<v1::ResolveDivergenceResponse>> DivergenceService::resolve(
    Caller caller, v1::ResolveDivergenceRequest request) {
  v1::ResolveDivergenceResponse response;
  if (request.way() == v1::ResolveDivergenceRequest::WAY_REPLAY) {
    CO_TRY(ha::Quarantine quarantine, load(request.file()));
    CO_TRY(response, co_await replay(std::move(quarantine), request.overwrite()));
    parts_.audit.change(record_of(caller, "replay-divergence", request.file()));
  } else if (request.way() != v1::ResolveDivergenceRequest::WAY_DISCARD) {
    CO_TRY_OK(load(request.file()).status());
    co_return absl::InvalidArgumentError("way: discard or replay");
  }
  response.set_kept(response.skipped() > 0);
  if (response.kept()) co_return response;
  CO_TRY_OK(ha::discard_quarantine(parts_.folder, request.file()));
  parts_.audit.change(record_of(caller, "discard-divergence", request.file()));
  co_return response;
}

}  // namespace holdfast::api
