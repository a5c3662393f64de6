#include "events/event.h"

#include <algorithm>

namespace holdfast::events {
namespace {

std::string encode(v1::EventType type, const v1::Resource& resource, int64_t revision) {
  v1::WatchResponse response;
  v1::Event& event = *response.add_events();
  event.set_type(type);
  event.set_revision(revision);
  *event.mutable_resource() = resource;
  if (type == v1::EVENT_TYPE_PUT) {
    event.mutable_resource()->mutable_metadata()->set_revision(revision);
  }
  return response.SerializeAsString();
}

std::string encode_delete(const std::string& kind, const std::string& name, int64_t revision) {
  v1::Resource header;
  header.set_kind(kind);
  header.mutable_metadata()->set_name(name);
  return encode(v1::EVENT_TYPE_DELETE, header, revision);
}

}  // namespace

size_t Event::footprint() const {
  size_t bytes = sizeof(Event) + kind.size() + name.size() + encoded.size() +
                 encoded_with_secrets.size() + encoded_as_delete.size();
  for (const auto& [label, value] : labels) bytes += label.size() + value.size() + 64;
  return bytes;
}

Event make_put(const v1::Resource& resource, const v1::Resource* visible, int64_t revision) {
  const v1::Metadata& metadata = resource.metadata();
  return {.type = v1::EVENT_TYPE_PUT,
          .kind = resource.kind(),
          .name = metadata.name(),
          .revision = revision,
          .labels = {metadata.labels().begin(), metadata.labels().end()},
          .encoded = encode(v1::EVENT_TYPE_PUT, visible ? *visible : resource, revision),
          .encoded_with_secrets =
              visible ? encode(v1::EVENT_TYPE_PUT, resource, revision) : std::string(),
          .encoded_as_delete = encode_delete(resource.kind(), metadata.name(), revision)};
}

Event make_delete(std::string kind, std::string name, int64_t revision) {
  std::string encoded = encode_delete(kind, name, revision);
  return {.type = v1::EVENT_TYPE_DELETE,
          .kind = std::move(kind),
          .name = std::move(name),
          .revision = revision,
          .labels = {},
          .encoded = std::move(encoded),
          .encoded_with_secrets = {},
          .encoded_as_delete = {}};
}

std::string encode_init(const std::vector<WatchKind>& confirmed, int64_t revision) {
  v1::WatchResponse response;
  v1::Event& event = *response.add_events();
  event.set_type(v1::EVENT_TYPE_INIT);
  event.set_revision(revision);
  v1::WatchStatus& status = *event.mutable_status();
  for (const WatchKind& kind : confirmed) *status.add_kinds() = to_proto(kind);
  return response.SerializeAsString();
}

std::string_view view_of(const Event& event, const WatchKind& kind) {
  if (event.kind != kind.kind) return {};
  if (!kind.name.empty() && event.name != kind.name) return {};
  if (event.type == v1::EVENT_TYPE_DELETE) return event.encoded;
  const bool labels_match = std::ranges::all_of(kind.labels, [&](const auto& label) {
    const auto found = event.labels.find(label.first);
    return found != event.labels.end() && found->second == label.second;
  });
  if (!labels_match) return event.encoded_as_delete;
  const bool secrets = kind.with_secrets && !event.encoded_with_secrets.empty();
  return secrets ? event.encoded_with_secrets : event.encoded;
}

std::string_view view_of(const Event& event, const std::vector<WatchKind>& kinds) {
  std::string_view best;
  for (const WatchKind& kind : kinds) {
    const std::string_view bytes = view_of(event, kind);
    if (!bytes.empty() && bytes.data() != event.encoded_as_delete.data()) return bytes;
    if (best.empty()) best = bytes;
  }
  return best;
}

}  // namespace holdfast::events
