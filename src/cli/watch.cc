// holdfast watch: changes as they happen.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

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

// Prints what comes, and after a gap in the history what came of it.
class Watching {
 public:
  Watching(const Session& session, const WatchOptions& options, std::vector<Target> targets)
      : session_(session), options_(options), targets_(std::move(targets)) {}

  Exit run() {
    const Status status = follow(session_, request(), [this](const v1::Event& event) {
      return event.type() == v1::EVENT_TYPE_INIT ? begin(event) : take(event);
    });
    if (!failure_.ok()) return session_.failed(failure_);
    if (status.ok()) return Exit::Ok;
    // One that went away in the middle and did not come back is gone, whether it said so or not.
    Asked asked = session_.client.asked();
    if (begun_) asked.answered = false;
    return session_.console.report(explain(status, asked));
  }

 private:
  v1::WatchRequest request() const {
    v1::WatchRequest request;
    request.set_after_revision(options_.after_revision);
    for (const Target& target : targets_) {
      v1::WatchKind& wanted = *request.add_kinds();
      wanted.set_kind(std::string(resource::info(target.kind).name));
      if (!target.names.empty()) wanted.set_name(target.names.front());
    }
    return request;
  }

  bool begin(const v1::Event& init) {
    print_init(init);
    const bool again = std::exchange(begun_, true);
    if (!again) {
      reached_ = init.revision();
      return true;
    }
    print_err("what was deleted meanwhile is not shown: see `holdfast get`\n");
    // A half that lost some of the history has it shorter: then nothing tells old from new.
    if (init.revision() < reached_) reached_ = 0;
    for (const Target& target : targets_) {
      if (!list(target)) return false;
    }
    reached_ = std::max(reached_, init.revision());
    return true;
  }

  bool list(const Target& target) {
    const auto there = target.names.empty()
                           ? fetch_all(session_.client, target.kind, {})
                           : fetch_named(session_.client, target.kind, target.names);
    if (absl::IsNotFound(there.status())) return true;
    failure_ = there.status();
    if (!there.ok()) return false;
    const int64_t known = reached_;
    for (const v1::Resource& one : *there) {
      if (one.metadata().revision() <= known) continue;
      v1::Event event;
      event.set_type(v1::EVENT_TYPE_PUT);
      event.set_revision(one.metadata().revision());
      *event.mutable_resource() = one;
      if (!take(event)) return false;
      listed_[name_of(event)] = event.revision();
      reached_ = known;  // for the other kinds
    }
    return true;
  }

  bool take(const v1::Event& event) {
    const auto listed = listed_.find(name_of(event));
    if (listed != listed_.end() && event.revision() <= listed->second) return true;
    print_event(event, options_.output);
    reached_ = std::max(reached_, event.revision());
    printed_ += 1;
    if (!flush_output()) return false;
    return options_.count == 0 || printed_ < options_.count;
  }

  static std::string name_of(const v1::Event& event) {
    return event.resource().kind() + "/" + event.resource().metadata().name();
  }

  const Session& session_;
  const WatchOptions& options_;
  const std::vector<Target> targets_;
  uint64_t printed_ = 0;
  bool begun_ = false;
  int64_t reached_ = 0;                    // the last revision that was printed, or begun at
  std::map<std::string, int64_t> listed_;  // and whose events may still come
  Status failure_;
};

}  // namespace

Exit watch(const Session& session, const WatchOptions& options) {
  std::vector<Target> targets;
  for (const std::string& spelling : options.kinds) {
    const auto target = parse_target(spelling, {});
    if (!target) return session.console.report(target.error());
    targets.push_back(*target);
  }
  return Watching(session, options, std::move(targets)).run();
}

}  // namespace holdfast::cli
