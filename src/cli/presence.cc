#include "cli/presence.h"

#include <fmt/format.h>

#include "cli/times.h"

namespace holdfast::cli {
namespace {

template <typename Node>
std::string text_of(const Node& node, WallTime now) {
  const v1::Announcement& announcement = node.announcement();
  if (announcement.has_offline_since()) {
    return fmt::format("offline for {}", age(to_wall(announcement.offline_since()), now));
  }
  if (!node.has_last_heartbeat()) return "never heard";
  const WallTime heard = to_wall(node.last_heartbeat());
  const bool late = announcement.has_ttl() && now - heard > to_duration(announcement.ttl());
  return fmt::format("{}, heard {} ago", late ? "late" : "online", age(heard, now));
}

}  // namespace

std::string presence_text(const v1::Resource& node, WallTime now) {
  switch (node.body_case()) {
    case v1::Resource::kController:
      return text_of(node.controller(), now);
    case v1::Resource::kProxy:
      return text_of(node.proxy(), now);
    case v1::Resource::kAgent:
      return text_of(node.agent(), now);
    default:
      return "";
  }
}

}  // namespace holdfast::cli
