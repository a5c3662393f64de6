// A node's entry in the store: what the controller adds to what the node says, and what the
// presence table reads out of it.
#pragma once

#include <optional>

#include "base/clock.h"
#include "base/result.h"
#include "health/presence_table.h"
#include "holdfast/v1/node.pb.h"
#include "resource/registry.h"
#include "store/store.h"

namespace holdfast::api {

// "agent" is a node's kind; absent for kinds that announce nothing.
std::optional<health::NodeKind> node_kind(resource::Kind kind);
resource::Kind resource_kind(health::NodeKind kind);
std::string node_key(const health::NodeId& id);

google::protobuf::Timestamp to_timestamp(WallTime time);
google::protobuf::Duration to_proto_duration(Duration duration);

// When an announcement was taken and for how long it holds.
struct Taken {
  WallTime at{};
  Duration ttl{0};
  Duration keep_offline{0};
  WallTime certificate_expires{};  // the epoch: the node showed no certificate
};
// What is stored for an announcement. Whatever the node says of the controller's own fields is
// replaced. kInvalidArgument if it is no node's, or breaks a rule of its kind.
Result<v1::Resource> stored_entry(v1::AnnounceRequest request, const Taken& taken);

// Which process says it: when it started; 0 if it does not say.
health::InstanceId instance_of(const google::protobuf::Timestamp& started);
health::InstanceId instance_of(const v1::Resource& node);
// Says in the entry that another process, which started then, announces itself by the same name:
// HF1108. It goes before what the node says of itself, unless it leaves.
void say_doubled(v1::Resource& resource, health::InstanceId other);

// The same entry, found to be offline.
void set_offline_since(v1::Resource& resource, WallTime since);

// Absent if the resource is no node's, or was never announced.
std::optional<health::Presence> presence_of(const v1::Resource& resource);
// The same for a stored item; absent for bytes that are not a resource.
std::optional<health::Presence> presence_of(const store::Item& item);

}  // namespace holdfast::api
