// One change as watchers see it, encoded once for all of them.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "events/watch_request.h"
#include "holdfast/v1/api.pb.h"

namespace holdfast::events {

// The bytes are `WatchResponse.events` entries: a message of many events is their concatenation.
struct Event {
  v1::EventType type = v1::EVENT_TYPE_PUT;
  std::string kind;
  std::string name;
  int64_t revision = 0;
  std::map<std::string, std::string> labels;  // of a Put
  std::string encoded;                        // as everyone may see it
  std::string encoded_with_secrets;           // empty if there is nothing secret in it
  std::string encoded_as_delete;              // of a Put, for watchers it no longer matches

  size_t footprint() const;
};

// `resource` as stored, with all it has; `visible` the same without its secrets, or null if it has
// none.
Event make_put(const v1::Resource& resource, const v1::Resource* visible, int64_t revision);
Event make_delete(std::string kind, std::string name, int64_t revision);
// A whole WatchResponse with the one Init event.
std::string encode_init(const std::vector<WatchKind>& confirmed, int64_t revision);

// The bytes of `event` for a watcher of `kind`; empty if it does not concern it.
std::string_view view_of(const Event& event, const WatchKind& kind);
// For a watcher of several kinds: a resource that matches any of them is seen as it is.
std::string_view view_of(const Event& event, const std::vector<WatchKind>& kinds);

}  // namespace holdfast::events
