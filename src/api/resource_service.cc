#include "api/resource_service.h"

#include <absl/strings/match.h>
#include <fmt/format.h>

#include <algorithm>

#include "api/page_token.h"
#include "base/bytes.h"
#include "resource/field_path.h"
#include "resource/proto_time.h"
#include "resource/validation.h"

namespace holdfast::api {
namespace {

using identity::Grant;
using store::Operation;
using store::Precondition;

Result<resource::Kind> known_kind(const std::string& name) {
  const std::optional<resource::Kind> kind = resource::kind_named(name);
  if (kind) return *kind;
  return absl::UnimplementedError(fmt::format("this controller has no kind {}", in_quotes(name)));
}

Result<std::string> key_of(const std::string& kind_name, const std::string& name) {
  TRY(const resource::Kind kind, known_kind(kind_name));
  std::string key = resource::store_key(kind, name);
  if (resource::parse_store_key(key)) return key;
  return absl::InvalidArgumentError(fmt::format("{} is no resource's name", in_quotes(name)));
}

// In the words of resources, not of keys.
Status in_resource_words(const Status& status, std::string_view kind, std::string_view name) {
  const std::string what = fmt::format("{} {}", kind, in_quotes(name));
  switch (status.code()) {
    case absl::StatusCode::kNotFound:
      return absl::NotFoundError(fmt::format("{} does not exist", what));
    case absl::StatusCode::kAlreadyExists:
      return absl::AlreadyExistsError(fmt::format("{} already exists", what));
    case absl::StatusCode::kAborted:
      return absl::AbortedError(
          fmt::format("{} has changed since it was read; read it again and retry", what));
    default:
      return status;
  }
}

// The audit misses no change: one that nobody knows of is said with its doubt.
bool may_have_been_applied(const Status& status) {
  return absl::IsUnavailable(status) && absl::StrContains(status.message(), "outcome unknown");
}

bool labels_match(const v1::Resource& resource, const auto& all_wanted) {
  const auto& labels = resource.metadata().labels();
  return std::ranges::all_of(all_wanted, [&](const auto& wanted) {
    const auto found = labels.find(wanted.first);
    return found != labels.end() && found->second == wanted.second;
  });
}

}  // namespace

Result<v1::Resource> decode_item(const store::Item& item) {
  v1::Resource resource;
  if (!resource.ParseFromString(item.value)) {
    return absl::DataLossError(
        fmt::format("the store's value at {} is not a resource", in_quotes(item.key, 256)));
  }
  resource.mutable_metadata()->set_revision(item.revision);
  return resource;
}

asio::awaitable<Result<v1::Resource>> ResourceService::get(Caller caller, v1::GetRequest request) {
  CO_TRY(const resource::Kind kind, known_kind(request.kind()));
  CO_TRY(const Grant grant, gate_.allow(caller, v1::VERB_GET, kind, request.name()));
  if (request.with_secrets()) CO_TRY_OK(allow_secrets(caller, v1::VERB_GET, kind));
  CO_TRY(std::string key, key_of(request.kind(), request.name()));
  const Result<store::Item> item = co_await store_.get(std::move(key));
  if (!item.ok()) co_return in_resource_words(item.status(), request.kind(), request.name());
  CO_TRY(v1::Resource resource, decode_item(*item));
  if (!covers(grant, resource)) {
    co_return gate_.refuse_resource(caller, v1::VERB_GET, kind, request.name());
  }
  if (request.with_secrets()) co_return resource;
  co_return resource::without_secrets(std::move(resource));
}

Status ResourceService::allow_secrets(const Caller& caller, v1::Verb verb, resource::Kind kind) {
  if (caller.permissions->sees_secrets(caller.identity, kind)) return absl::OkStatus();
  if (resource::info(kind).secret_paths.empty()) return absl::OkStatus();
  return gate_.refuse_resource(caller, verb, kind, "");
}

asio::awaitable<Result<v1::ListResponse>> ResourceService::list(Caller caller,
                                                                v1::ListRequest request) {
  CO_TRY(const resource::Kind kind, known_kind(request.kind()));
  CO_TRY(const Grant grant, gate_.allow(caller, v1::VERB_LIST, kind, ""));
  if (request.with_secrets()) CO_TRY_OK(allow_secrets(caller, v1::VERB_LIST, kind));
  store::KeyRange range = store::prefix_range(resource::kind_prefix(kind));
  PageToken position;
  if (!request.page_token().empty()) {
    const std::optional<PageToken> token = parse_page_token(request.page_token());
    if (!token) co_return absl::InvalidArgumentError("page_token: not one this server gave out");
    position = *token;
    // The first key after the last one shown.
    range.begin = resource::store_key(kind, position.last_name) + '\0';
  }
  const uint32_t asked = request.page_size() == 0 ? limits_.default_page_size : request.page_size();
  const size_t page_size = std::min(asked, limits_.max_page_size);
  const bool filtered = !request.labels().empty() || !grant.only_services.empty();
  const size_t limit = filtered ? limits_.max_scanned_per_page : page_size;
  CO_TRY(const store::RangeResult found, co_await store_.range({std::move(range), limit}));

  v1::ListResponse response;
  response.set_revision(position.revision != 0 ? position.revision : found.revision);
  response.set_page_revision(found.revision);
  bool more = found.more;
  size_t bytes = 0;
  for (size_t i = 0; i < found.items.size(); ++i) {
    CO_TRY(v1::Resource resource, decode_item(found.items[i]));
    position.last_name = resource.metadata().name();
    if (!labels_match(resource, request.labels()) || !covers(grant, resource)) continue;
    bytes += found.items[i].value.size();
    if (!request.with_secrets()) resource = resource::without_secrets(std::move(resource));
    *response.add_resources() = std::move(resource);
    const bool full = bytes >= limits_.max_page_bytes ||
                      static_cast<size_t>(response.resources_size()) == page_size;
    if (!full) continue;
    more = more || i + 1 < found.items.size();
    break;
  }
  if (more) {
    position.revision = response.revision();
    response.set_next_page_token(to_text(position));
    response.set_up_to(position.last_name);
  }
  co_return response;
}

asio::awaitable<Result<v1::Resource>> ResourceService::create(Caller caller,
                                                              v1::WriteRequest request) {
  co_return co_await write(std::move(caller), std::move(request), Precondition::Absent);
}

asio::awaitable<Result<v1::Resource>> ResourceService::update(Caller caller,
                                                              v1::WriteRequest request) {
  co_return co_await write(std::move(caller), std::move(request), Precondition::Present);
}

asio::awaitable<Result<v1::Resource>> ResourceService::upsert(Caller caller,
                                                              v1::WriteRequest request) {
  co_return co_await write(std::move(caller), std::move(request), Precondition::None);
}

Status ResourceService::allow_write(const Caller& caller, const v1::Resource& resource,
                                    resource::Kind kind, Precondition precondition) {
  const std::string& name = resource.metadata().name();
  const bool may_create =
      precondition == Precondition::Absent || precondition == Precondition::None;
  const bool may_update = precondition != Precondition::Absent;
  for (const v1::Verb verb : {v1::VERB_CREATE, v1::VERB_UPDATE}) {
    if (verb == v1::VERB_CREATE ? !may_create : !may_update) continue;
    TRY(const Grant grant, gate_.allow(caller, verb, kind, name));
    if (!covers(grant, resource)) return gate_.refuse_resource(caller, verb, kind, name);
  }
  return absl::OkStatus();
}

asio::awaitable<Status> ResourceService::allow_change(Intent& intent) {
  Operation& operation = intent.operation;
  const resource::StoreKey& key = intent.key;
  const v1::Verb verb =
      operation.type == Operation::Type::Delete ? v1::VERB_DELETE : v1::VERB_UPDATE;
  CO_TRY(const Grant grant, gate_.allow(intent.caller, verb, key.kind, key.name));
  if (grant.only_services.empty()) co_return absl::OkStatus();
  // What is there now decides too, and must still be there when the change is made.
  const Result<store::Item> item = co_await store_.get(operation.key);
  if (absl::IsNotFound(item.status())) {
    // Whoever makes it meanwhile may be someone else: there is nothing to change yet.
    if (operation.precondition != Precondition::None) {
      co_return in_resource_words(item.status(), resource::info(key.kind).name, key.name);
    }
    operation.precondition = Precondition::Absent;
    co_return absl::OkStatus();
  }
  CO_TRY_OK(item.status());
  CO_TRY(const v1::Resource current, decode_item(*item));
  if (!covers(grant, current)) {
    co_return gate_.refuse_resource(intent.caller, verb, key.kind, key.name);
  }
  if (operation.precondition == Precondition::None ||
      operation.precondition == Precondition::Present) {
    operation.precondition = Precondition::Revision;
    operation.revision = item->revision;
  }
  co_return absl::OkStatus();
}

asio::awaitable<Status> ResourceService::keep_secrets(Intent& intent, v1::Resource& resource) {
  Operation& operation = intent.operation;
  const resource::KindInfo& info = resource::info(intent.key.kind);
  if (info.secret_paths.empty() || operation.precondition == Precondition::Absent) {
    co_return absl::OkStatus();
  }
  const Result<store::Item> item = co_await store_.get(operation.key);
  if (absl::IsNotFound(item.status())) {
    // What is made meanwhile has secrets that would be lost.
    if (operation.precondition == Precondition::None) operation.precondition = Precondition::Absent;
    const bool may_create = operation.precondition == Precondition::Absent;
    co_return may_create ? absl::OkStatus()
                         : in_resource_words(item.status(), info.name, intent.key.name);
  }
  CO_TRY_OK(item.status());
  CO_TRY(const v1::Resource current, decode_item(*item));
  resource = resource::with_secrets_of(current, std::move(resource));
  if (operation.precondition != Precondition::Revision) {
    operation.precondition = Precondition::Revision;
    operation.revision = item->revision;
  }
  co_return absl::OkStatus();
}

asio::awaitable<Result<v1::Resource>> ResourceService::write(Caller caller,
                                                             v1::WriteRequest request,
                                                             Precondition precondition) {
  const std::optional<resource::Kind> kind = resource::kind_of(request.resource());
  if (!kind) {
    co_return absl::UnimplementedError(
        "resource.body: empty, or of a kind that this controller does not have");
  }
  Operation operation;
  operation.revision = request.resource().metadata().revision();
  operation.precondition = operation.revision != 0 && precondition != Precondition::Absent
                               ? Precondition::Revision
                               : precondition;
  CO_TRY_OK(allow_write(caller, request.resource(), *kind, operation.precondition));
  const std::string_view verb = precondition == Precondition::Absent    ? "create"
                                : precondition == Precondition::Present ? "update"
                                                                        : "upsert";
  v1::Resource& resource = *request.mutable_resource();
  if (resource.kind().empty()) resource.set_kind(std::string(resource::info(*kind).name));
  CO_TRY(MarkedRequest marked, mark_request(caller, verb, request.request_id(), request));
  CO_TRY_OK(resource::validate(resource));

  operation.key = resource::store_key(*kind, resource.metadata().name());
  if (resource.metadata().has_expires()) {
    operation.expires = resource::to_wall_time(resource.metadata().expires());
  }
  resource.mutable_metadata()->clear_revision();
  Intent intent{.caller = std::move(caller),
                .verb = verb,
                .key = {*kind, resource.metadata().name()},
                .operation = std::move(operation),
                .request = std::move(marked)};
  CO_TRY(const store::Revision revision, co_await apply_once(std::move(intent), &resource));
  // Nothing but the revision is added to what was asked for, so a repetition is answered the same.
  resource.mutable_metadata()->set_revision(revision);
  co_return resource::without_secrets(std::move(resource));
}

asio::awaitable<Result<store::Revision>> ResourceService::apply_once(Intent intent,
                                                                     const v1::Resource* resource) {
  if (intent.request.id.empty()) co_return co_await apply(intent, resource);
  CO_TRY(std::optional<store::Revision> before, co_await records_.find(intent.request));
  if (!before) {
    const Result<store::Revision> applied = co_await apply(intent, resource);
    if (applied.ok() || absl::IsUnavailable(applied.status())) co_return applied;
    // What stood in its way may be its twin, applied meanwhile by this or another controller.
    CO_TRY(before, co_await records_.find(intent.request));
    if (!before) co_return applied.status();
  }
  stats_.repeated += 1;
  co_return *before;
}

asio::awaitable<Result<store::Revision>> ResourceService::apply(Intent& intent,
                                                                const v1::Resource* resource) {
  if (intent.operation.precondition != Precondition::Absent) {
    CO_TRY_OK(co_await allow_change(intent));
  }
  if (resource != nullptr) {
    v1::Resource whole = *resource;
    CO_TRY_OK(co_await keep_secrets(intent, whole));
    intent.operation.value = whole.SerializeAsString();
  }
  co_return co_await commit(intent);
}

asio::awaitable<Result<store::Revision>> ResourceService::commit(Intent& intent) {
  const std::string_view kind = resource::info(intent.key.kind).name;
  std::vector<Operation> operations;
  operations.push_back(std::move(intent.operation));
  if (!intent.request.id.empty()) {
    CO_TRY(Operation record, records_.record_of(intent.request));
    operations.push_back(std::move(record));
  }
  const Result<store::Revision> revision = co_await store_.commit(std::move(operations));
  identity::AuditRecord line =
      record_of(intent.caller, intent.verb, fmt::format("{}/{}", kind, intent.key.name));
  if (may_have_been_applied(revision.status())) line.code = "HF1021";
  if (revision.ok() || !line.code.empty()) audit_.change(std::move(line));
  if (!revision.ok()) co_return in_resource_words(revision.status(), kind, intent.key.name);
  co_return *revision;
}

asio::awaitable<Result<v1::DeleteResponse>> ResourceService::remove(Caller caller,
                                                                    v1::DeleteRequest request) {
  CO_TRY(const resource::Kind kind, known_kind(request.kind()));
  CO_TRY_OK(gate_.allow(caller, v1::VERB_DELETE, kind, request.name()).status());
  CO_TRY(MarkedRequest marked, mark_request(caller, "delete", request.request_id(), request));
  Intent intent{.caller = std::move(caller),
                .verb = "delete",
                .key = {kind, request.name()},
                .request = std::move(marked)};
  CO_TRY(intent.operation.key, key_of(request.kind(), request.name()));
  intent.operation.type = Operation::Type::Delete;
  intent.operation.precondition =
      request.revision() != 0 ? Precondition::Revision : Precondition::Present;
  intent.operation.revision = request.revision();
  CO_TRY(const store::Revision revision, co_await apply_once(std::move(intent), nullptr));
  v1::DeleteResponse response;
  response.set_revision(revision);
  co_return response;
}

}  // namespace holdfast::api
