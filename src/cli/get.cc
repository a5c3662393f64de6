// holdfast get, holdfast delete: resources by kind and name.
#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>

#include "cli/commands.h"
#include "cli/follow.h"
#include "cli/listing.h"
#include "cli/output.h"
#include "cli/target.h"
#include "resource/codec.h"
#include "resource/registry.h"

namespace holdfast::cli {
namespace {

using Resources = std::vector<v1::Resource>;

Result<Resources> fetch(Client& client, const Target& target, const GetOptions& options) {
  return target.names.empty() ? fetch_all(client, target.kind, options.labels)
                              : fetch_named(client, target.kind, target.names);
}

std::string label(const v1::Resource& resource) {
  return fmt::format("{}/{}\n", resource.kind(), resource.metadata().name());
}

bool is_table(Output output) {
  return output == Output::Table || output == Output::Wide;
}

void print(const Target& target, const Resources& resources, Output output, LastColumn last) {
  const bool single = target.names.size() == 1;
  switch (output) {
    case Output::Json:
      print_out(single ? resource::to_json_pretty(resources.front())
                       : resource::list_to_json_pretty(resources));
      return;
    case Output::Yaml:
      print_out(single ? resource::to_yaml(resources.front()) : resource::list_to_yaml(resources));
      return;
    case Output::Name:
      for (const v1::Resource& one : resources) print_out(label(one));
      return;
    case Output::Table:
    case Output::Wide:
      print_out(ResourceTable(target.kind, output == Output::Wide, last).begin(resources));
  }
}

v1::WatchRequest watch_request(const Target& target, const GetOptions& options) {
  v1::WatchRequest request;
  const auto add = [&](const std::string& name) {
    v1::WatchKind& wanted = *request.add_kinds();
    wanted.set_kind(std::string(resource::info(target.kind).name));
    wanted.set_name(name);
    wanted.mutable_labels()->insert(options.labels.begin(), options.labels.end());
  };
  if (target.names.empty()) add("");
  for (const std::string& name : target.names) add(name);
  return request;
}

// First what is there, then every change: the watch begins before the listing, so nothing falls
// between the two.
class Following {
 public:
  Following(const Session& session, const Target& target, const GetOptions& options)
      : session_(session),
        target_(target),
        options_(options),
        table_(target.kind, options.output == Output::Wide, session.console.last_column()) {}

  Exit run() {
    const Status status =
        cli::follow(session_, watch_request(target_, options_), [this](const v1::Event& event) {
          return event.type() == v1::EVENT_TYPE_INIT ? begin() : follow(event);
        });
    if (!failure_.ok()) return session_.failed(failure_);
    if (status.ok()) return Exit::Ok;
    // One that went away in the middle and did not come back is gone, whether it said so or not.
    Asked asked = session_.client.asked();
    if (begun_) asked.answered = false;
    return session_.console.report(explain(status, asked));
  }

 private:
  bool begin() {
    const bool again = std::exchange(begun_, true);
    const Result<Resources> resources = fetch(session_.client, target_, options_);
    failure_ = resources.status();
    if (!resources.ok()) return false;
    if (again) return catch_up(*resources);
    for (const v1::Resource& one : *resources) {
      seen_[one.metadata().name()] = one.metadata().revision();
    }
    if (is_table(options_.output)) {
      print_out(table_.begin(*resources));
    } else {
      for (const v1::Resource& one : *resources) print_one(one);
    }
    return flush_output();
  }

  // The changes in between are lost; what they came to is not.
  bool catch_up(const Resources& resources) {
    std::map<std::string, int64_t> gone = std::exchange(seen_, {});
    for (const v1::Resource& one : resources) {
      const auto known = gone.extract(one.metadata().name());
      const int64_t revision = one.metadata().revision();
      v1::Event event;
      event.set_type(v1::EVENT_TYPE_PUT);
      event.set_revision(revision);
      *event.mutable_resource() = one;
      if (!known || known.mapped() != revision) {
        if (!follow(event)) return false;
      }
      seen_[one.metadata().name()] = revision;
    }
    for (const auto& [name, revision] : gone) {
      if (deleted_.contains(name)) continue;
      v1::Event event;
      event.set_type(v1::EVENT_TYPE_DELETE);
      event.set_revision(revision);
      event.mutable_resource()->set_kind(std::string(resource::info(target_.kind).name));
      event.mutable_resource()->mutable_metadata()->set_name(name);
      if (!follow(event)) return false;
    }
    return true;
  }

  bool follow(const v1::Event& event) {
    const v1::Metadata& metadata = event.resource().metadata();
    const auto known = seen_.find(metadata.name());
    if (known != seen_.end() && event.revision() <= known->second) return true;
    seen_[metadata.name()] = event.revision();
    if (event.type() == v1::EVENT_TYPE_PUT) {
      deleted_.erase(metadata.name());
    } else {
      deleted_.insert(metadata.name());
    }
    if (options_.output == Output::Json) {
      print_out(event_json(event));
    } else if (event.type() == v1::EVENT_TYPE_PUT) {
      is_table(options_.output) ? print_out(table_.more(event.resource()))
                                : print_one(event.resource());
    } else if (is_table(options_.output)) {
      print_out(table_.gone(metadata.name()));
    }
    changes_ += 1;
    return flush_output() && (options_.count == 0 || changes_ < options_.count);
  }

  void print_one(const v1::Resource& resource) {
    if (options_.output == Output::Name) {
      print_out(label(resource));
    } else if (options_.output == Output::Yaml) {
      print_out("---\n" + resource::to_yaml(resource));
    } else {
      v1::Event event;
      event.set_type(v1::EVENT_TYPE_PUT);
      event.set_revision(resource.metadata().revision());
      *event.mutable_resource() = resource;
      print_out(event_json(event));
    }
  }

  const Session& session_;
  const Target& target_;
  const GetOptions& options_;
  ResourceTable table_;
  std::map<std::string, int64_t> seen_;  // the revision of each as last printed
  std::set<std::string> deleted_;        // of those seen
  uint64_t changes_ = 0;
  bool begun_ = false;
  Status failure_;
};

}  // namespace

Exit get(const Session& session, const GetOptions& options) {
  const auto target = parse_target(options.kind, options.names);
  if (!target) return session.console.report(target.error());
  if (options.watch) return Following(session, *target, options).run();
  const Result<Resources> resources = fetch(session.client, *target, options);
  if (!resources.ok()) return session.failed(resources.status());
  if (resources->empty() && is_table(options.output)) {
    print_err(fmt::format("No {} found.\n", resource::info(target->kind).plural));
    return Exit::Ok;
  }
  print(*target, *resources, options.output, session.console.last_column());
  return Exit::Ok;
}

Exit remove(const Session& session, const DeleteOptions& options) {
  const auto target = parse_target(options.kind, options.names);
  if (!target) return session.console.report(target.error());
  if (target->names.empty()) {
    return session.console.report({Exit::Usage, "HF6010", "name what to delete", ""});
  }
  for (const std::string& name : target->names) {
    v1::DeleteRequest request;
    request.set_kind(std::string(resource::info(target->kind).name));
    request.set_name(name);
    const Result<v1::DeleteResponse> deleted = session.client.remove(request);
    if (!deleted.ok()) return session.failed(deleted.status());
    print_out(fmt::format("{}/{} deleted\n", request.kind(), name));
  }
  return Exit::Ok;
}

}  // namespace holdfast::cli
