// holdfast watch: changes as they happen.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/follow.h"
#include "cli/listing.h"
#include "cli/output.h"
#include "cli/target.h"
#include "resource/registry.h"

namespace holdfast::cli {
namespace {

void print_event(const v1::Event& event, Output output) {
  const bool put = event.type() == v1::EVENT_TYPE_PUT;
  const v1::Resource& resource = event.resource();
  if (output == Output::Json) {
    print_out(event_json(event));
  } else {
    print_out(fmt::format("{:<6} {}/{}  revision {}\n", put ? "put" : "delete", resource.kind(),
                          resource.metadata().name(), event.revision()));
  }
}

void print_init(const v1::Event& init) {
  std::string kinds;
  for (const v1::WatchKind& kind : init.status().kinds()) {
    kinds += (kinds.empty() ? "" : ", ") + kind.kind();
  }
  print_err(fmt::format("watching {} after revision {}\n", kinds, init.revision()));
}

}  // namespace

Exit watch(const Session& session, const WatchOptions& options) {
  v1::WatchRequest request;
  request.set_after_revision(options.after_revision);
  for (const std::string& spelling : options.kinds) {
    const auto target = parse_target(spelling, {});
    if (!target) return session.console.report(target.error());
    v1::WatchKind& wanted = *request.add_kinds();
    wanted.set_kind(std::string(resource::info(target->kind).name));
    if (!target->names.empty()) wanted.set_name(target->names.front());
  }
  uint64_t seen = 0;
  bool begun = false;
  const Status status = follow(session, request, [&](const v1::Event& event) {
    if (event.type() == v1::EVENT_TYPE_INIT) {
      print_init(event);
      begun = true;
      return true;
    }
    print_event(event, options.output);
    seen += 1;
    if (!flush_output()) return false;
    return options.count == 0 || seen < options.count;
  });
  if (status.ok()) return Exit::Ok;
  // One that went away in the middle and did not come back is gone, whether it said so or not.
  Asked asked = session.client.asked();
  if (begun) asked.answered = false;
  return session.console.report(explain(status, asked));
}

}  // namespace holdfast::cli
