// What the tests of the fan-out share: the kinds they watch and the events they append.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "events/event.h"
#include "events/watch_request.h"

namespace holdfast::events {

inline WatchKind kind(std::string name) {
  return {.kind = std::move(name), .name = {}, .labels = {}, .with_secrets = false};
}

inline const std::vector<WatchKind> kBoth = {kind("service"), kind("agent")};

inline Event put(const std::string& kind_name, const std::string& name, int64_t revision) {
  v1::Resource resource;
  resource.set_kind(kind_name);
  resource.mutable_metadata()->set_name(name);
  return make_put(resource, nullptr, revision);
}

}  // namespace holdfast::events
