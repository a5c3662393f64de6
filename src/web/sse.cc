#include "web/sse.h"

#include <fmt/format.h>

#include "resource/codec.h"
#include "resource/encode.h"
#include "web/answer.h"
#include "web/json.h"

namespace holdfast::web {
namespace {

using resource::Node;

std::string init_json(const v1::Event& event) {
  Node kinds = Node::sequence();
  for (const v1::WatchKind& kind : event.status().kinds()) {
    kinds.items.push_back(resource::encode_message(kind));
  }
  Node data = Node::mapping();
  add(data, "revision", plain(fmt::format("{}", event.revision())));
  add(data, "kinds", std::move(kinds));
  return resource::write_json(data);
}

std::string delete_json(const v1::Event& event) {
  v1::Resource shown = event.resource();
  shown.mutable_metadata()->set_revision(event.revision());
  return resource::to_json(shown);
}

std::string format_event(const v1::Event& event) {
  switch (event.type()) {
    case v1::EVENT_TYPE_INIT:
      return fmt::format("event: init\ndata: {}\n", init_json(event));
    case v1::EVENT_TYPE_PUT:
      return fmt::format("event: put\ndata: {}\n", resource::to_json(event.resource()));
    case v1::EVENT_TYPE_DELETE:
      return fmt::format("event: delete\ndata: {}\n", delete_json(event));
    default:
      return {};  // of a newer version: nothing a reader could use
  }
}

}  // namespace

std::string format_events(const v1::WatchResponse& response) {
  std::string out;
  for (int i = 0; i < response.events_size(); ++i) {
    const v1::Event& event = response.events(i);
    const std::string text = format_event(event);
    if (text.empty()) continue;
    out += text;
    const bool last_of_revision =
        i + 1 == response.events_size() || response.events(i + 1).revision() != event.revision();
    if (last_of_revision) out += fmt::format("id: {}\n", event.revision());
    out += '\n';
  }
  return out;
}

std::string format_end(const Status& why) {
  return fmt::format("event: end\ndata: {}\n\n", error_json(why));
}

}  // namespace holdfast::web
