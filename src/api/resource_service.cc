#include "api/resource_service.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/page_token.h"
#include "base/bytes.h"
#include "resource/field_path.h"
#include "resource/validation.h"

namespace holdfast::api {
namespace {

using store::Operation;
using store::Precondition;

Result<resource::Kind> known_kind(const std::string& name) {
  const std::optional<resource::Kind> kind = resource::kind_named(name);
  if (kind) return *kind;
  return absl::UnimplementedError(fmt::format("this controller has no kind {}", quoted(name)));
}

Result<std::string> key_of(const std::string& kind_name, const std::string& name) {
  TRY(const resource::Kind kind, known_kind(kind_name));
  std::string key = resource::store_key(kind, name);
  if (resource::parse_store_key(key)) return key;
  return absl::InvalidArgumentError(fmt::format("{} is no resource's name", quoted(name)));
}

// In the words of resources, not of keys.
Status in_resource_words(const Status& status, std::string_view kind, std::string_view name) {
  const std::string what = fmt::format("{} {}", kind, quoted(name));
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

bool labels_match(const v1::Resource& resource, const v1::ListRequest& request) {
  const auto& labels = resource.metadata().labels();
  return std::ranges::all_of(request.labels(), [&](const auto& wanted) {
    const auto found = labels.find(wanted.first);
    return found != labels.end() && found->second == wanted.second;
  });
}

WallTime to_wall_time(const google::protobuf::Timestamp& stamp) {
  return WallTime(std::chrono::seconds(stamp.seconds()) +
                  std::chrono::milliseconds(stamp.nanos() / 1'000'000));
}

}  // namespace

Result<v1::Resource> decode_item(const store::Item& item) {
  v1::Resource resource;
  if (!resource.ParseFromString(item.value)) {
    return absl::DataLossError(
        fmt::format("the store's value at {} is not a resource", quoted(item.key, 256)));
  }
  resource.mutable_metadata()->set_revision(item.revision);
  return resource;
}

asio::awaitable<Result<v1::Resource>> ResourceService::get(v1::GetRequest request) {
  CO_TRY(std::string key, key_of(request.kind(), request.name()));
  const Result<store::Item> item = co_await store_.get(std::move(key));
  if (!item.ok()) co_return in_resource_words(item.status(), request.kind(), request.name());
  CO_TRY(v1::Resource resource, decode_item(*item));
  if (request.with_secrets()) co_return resource;
  co_return resource::without_secrets(std::move(resource));
}

asio::awaitable<Result<v1::ListResponse>> ResourceService::list(v1::ListRequest request) {
  CO_TRY(const resource::Kind kind, known_kind(request.kind()));
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
  const size_t limit = request.labels().empty() ? page_size : limits_.max_scanned_per_page;
  CO_TRY(const store::RangeResult found, co_await store_.range({std::move(range), limit}));

  v1::ListResponse response;
  response.set_revision(position.revision != 0 ? position.revision : found.revision);
  bool more = found.more;
  size_t bytes = 0;
  for (size_t i = 0; i < found.items.size(); ++i) {
    CO_TRY(v1::Resource resource, decode_item(found.items[i]));
    position.last_name = resource.metadata().name();
    if (!labels_match(resource, request)) continue;
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
  }
  co_return response;
}

asio::awaitable<Result<v1::Resource>> ResourceService::create(v1::WriteRequest request) {
  co_return co_await write(std::move(request), Precondition::Absent);
}

asio::awaitable<Result<v1::Resource>> ResourceService::update(v1::WriteRequest request) {
  co_return co_await write(std::move(request), Precondition::Present);
}

asio::awaitable<Result<v1::Resource>> ResourceService::upsert(v1::WriteRequest request) {
  co_return co_await write(std::move(request), Precondition::None);
}

asio::awaitable<Result<v1::Resource>> ResourceService::write(v1::WriteRequest request,
                                                             Precondition precondition) {
  v1::Resource& resource = *request.mutable_resource();
  const std::optional<resource::Kind> kind = resource::kind_of(resource);
  if (!kind) {
    co_return absl::UnimplementedError(
        "resource.body: empty, or of a kind that this controller does not have");
  }
  if (resource.kind().empty()) resource.set_kind(std::string(resource::info(*kind).name));
  CO_TRY_OK(resource::validate(resource));

  Operation operation;
  operation.key = resource::store_key(*kind, resource.metadata().name());
  operation.precondition = precondition;
  operation.revision = resource.metadata().revision();
  if (operation.revision != 0 && precondition != Precondition::Absent) {
    operation.precondition = Precondition::Revision;
  }
  resource.mutable_metadata()->clear_revision();
  if (resource.metadata().has_expires()) {
    operation.expires = to_wall_time(resource.metadata().expires());
  }
  operation.value = resource.SerializeAsString();

  std::vector<Operation> operations;
  operations.push_back(std::move(operation));
  const Result<store::Revision> revision = co_await store_.commit(std::move(operations));
  if (!revision.ok()) {
    co_return in_resource_words(revision.status(), resource.kind(), resource.metadata().name());
  }
  resource.mutable_metadata()->set_revision(*revision);
  co_return resource::without_secrets(std::move(resource));
}

asio::awaitable<Result<v1::DeleteResponse>> ResourceService::remove(v1::DeleteRequest request) {
  Operation operation;
  operation.type = Operation::Type::Delete;
  CO_TRY(operation.key, key_of(request.kind(), request.name()));
  operation.precondition = request.revision() != 0 ? Precondition::Revision : Precondition::Present;
  operation.revision = request.revision();
  std::vector<Operation> operations;
  operations.push_back(std::move(operation));
  const Result<store::Revision> revision = co_await store_.commit(std::move(operations));
  if (!revision.ok()) {
    co_return in_resource_words(revision.status(), request.kind(), request.name());
  }
  v1::DeleteResponse response;
  response.set_revision(*revision);
  co_return response;
}

}  // namespace holdfast::api
