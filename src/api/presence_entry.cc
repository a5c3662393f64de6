#include "api/presence_entry.h"

#include <fmt/format.h>

#include "api/resource_service.h"
#include "base/bytes.h"
#include "resource/validation.h"

namespace holdfast::api {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// Of an encoded announcement, so that a hundred of them fit one commit of any store.
constexpr size_t kMaxEntryBytes = 64 << 10;

// The two fields that every node's body has.
struct NodeFields {
  google::protobuf::Timestamp* last_heartbeat = nullptr;
  v1::Announcement* announcement = nullptr;
};
template <typename Body>
NodeFields fields_of(Body& body) {
  return {body.mutable_last_heartbeat(), body.mutable_announcement()};
}
// Makes them if they are not there. Requires: a node's resource.
NodeFields mutable_fields(v1::Resource& resource) {
  if (resource.has_controller()) return fields_of(*resource.mutable_controller());
  if (resource.has_proxy()) return fields_of(*resource.mutable_proxy());
  return fields_of(*resource.mutable_agent());
}

WallTime to_wall_time(const google::protobuf::Timestamp& stamp) {
  return WallTime(seconds(stamp.seconds()) + milliseconds(stamp.nanos() / 1'000'000));
}

template <typename Body>
std::optional<health::Presence> read(const Body& body, health::NodeId id) {
  if (!body.has_last_heartbeat() || !body.announcement().has_ttl()) return std::nullopt;
  const google::protobuf::Duration& ttl = body.announcement().ttl();
  return health::Presence{.id = std::move(id),
                          .last_heartbeat = to_wall_time(body.last_heartbeat()),
                          .ttl = seconds(ttl.seconds()) + nanoseconds(ttl.nanos()),
                          .offline = body.announcement().has_offline_since(),
                          .instance = instance_of(body.started())};
}

template <typename Body>
void set_reason(Body& body, const std::string& reason) {
  body.set_code("HF1108");
  body.set_reason(reason);
}

}  // namespace

std::optional<health::NodeKind> node_kind(resource::Kind kind) {
  switch (kind) {
    case resource::Kind::Controller:
      return health::NodeKind::Controller;
    case resource::Kind::Proxy:
      return health::NodeKind::Proxy;
    case resource::Kind::Agent:
      return health::NodeKind::Agent;
    default:
      return std::nullopt;
  }
}

resource::Kind resource_kind(health::NodeKind kind) {
  switch (kind) {
    case health::NodeKind::Controller:
      return resource::Kind::Controller;
    case health::NodeKind::Proxy:
      return resource::Kind::Proxy;
    case health::NodeKind::Agent:
      break;
  }
  return resource::Kind::Agent;
}

std::string node_key(const health::NodeId& id) {
  return resource::store_key(resource_kind(id.kind), id.name);
}

google::protobuf::Timestamp to_timestamp(WallTime time) {
  const auto whole = std::chrono::floor<seconds>(time.time_since_epoch());
  google::protobuf::Timestamp stamp;
  stamp.set_seconds(whole.count());
  stamp.set_nanos(static_cast<int32_t>(nanoseconds(time.time_since_epoch() - whole).count()));
  return stamp;
}

google::protobuf::Duration to_proto_duration(Duration duration) {
  const auto whole = std::chrono::duration_cast<seconds>(duration);
  google::protobuf::Duration out;
  out.set_seconds(whole.count());
  out.set_nanos(static_cast<int32_t>((duration - whole).count()));
  return out;
}

Result<v1::Resource> stored_entry(v1::AnnounceRequest request, const Taken& taken) {
  v1::Resource& resource = *request.mutable_resource();
  const std::optional<resource::Kind> kind = resource::kind_of(resource);
  if (!kind || !node_kind(*kind)) {
    return absl::InvalidArgumentError(
        "resource: a controller, a proxy or an agent announces itself, nothing else does");
  }
  if (resource.kind().empty()) resource.set_kind(std::string(resource::info(*kind).name));
  const auto ms = [](Duration duration) {
    return std::chrono::duration_cast<WallTime::duration>(duration);
  };
  resource.mutable_metadata()->clear_revision();
  *resource.mutable_metadata()->mutable_expires() =
      to_timestamp(taken.at + ms(taken.ttl) + ms(taken.keep_offline));
  const NodeFields fields = mutable_fields(resource);
  *fields.last_heartbeat = to_timestamp(taken.at);
  fields.announcement->Clear();
  *fields.announcement->mutable_ttl() = to_proto_duration(taken.ttl);
  fields.announcement->mutable_trusted_pins()->Swap(request.mutable_trusted_pins());
  fields.announcement->set_issuer_pin(request.issuer_pin());
  if (taken.certificate_expires != WallTime()) {
    *fields.announcement->mutable_certificate_expires() = to_timestamp(taken.certificate_expires);
  }
  TRY_OK(resource::validate(resource));
  if (resource.ByteSizeLong() > kMaxEntryBytes) {
    return absl::InvalidArgumentError(
        fmt::format("resource: {} bytes are too many for an announcement; at most {}",
                    resource.ByteSizeLong(), kMaxEntryBytes));
  }
  return resource;
}

health::InstanceId instance_of(const google::protobuf::Timestamp& started) {
  return to_wall_time(started).time_since_epoch().count();
}

health::InstanceId instance_of(const v1::Resource& node) {
  if (node.has_controller()) return instance_of(node.controller().started());
  return instance_of(node.has_proxy() ? node.proxy().started() : node.agent().started());
}

void say_doubled(v1::Resource& resource, health::InstanceId other) {
  const std::string reason =
      fmt::format("another process with this identity, started {}, announces itself, too",
                  to_rfc3339(WallTime(WallTime::duration(other))));
  if (resource.has_agent()) set_reason(*resource.mutable_agent(), reason);
  if (resource.has_proxy() && !resource.proxy().draining()) {
    set_reason(*resource.mutable_proxy(), reason);
  }
}

void set_offline_since(v1::Resource& resource, WallTime since) {
  *mutable_fields(resource).announcement->mutable_offline_since() = to_timestamp(since);
}

std::optional<health::Presence> presence_of(const v1::Resource& resource) {
  const std::optional<resource::Kind> kind = resource::kind_of(resource);
  const std::optional<health::NodeKind> node = kind ? node_kind(*kind) : std::nullopt;
  if (!node) return std::nullopt;
  health::NodeId id{*node, resource.metadata().name()};
  if (resource.has_controller()) return read(resource.controller(), std::move(id));
  if (resource.has_proxy()) return read(resource.proxy(), std::move(id));
  return read(resource.agent(), std::move(id));
}

std::optional<health::Presence> presence_of(const store::Item& item) {
  const Result<v1::Resource> resource = decode_item(item);
  return resource.ok() ? presence_of(*resource) : std::nullopt;
}

}  // namespace holdfast::api
