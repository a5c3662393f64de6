// What each verb does once its options are known. One file per verb; main() only parses.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cli/client.h"
#include "cli/errors.h"
#include "resource/kind.h"

namespace holdfast::cli {

enum class Output { Table, Wide, Json, Yaml, Name };

struct ApplyOptions {
  std::vector<std::string> files;  // "-" is standard input
  bool dry_run = false;
};
// Creates what is not there, updates what differs, says which. Nothing is sent if any document is
// wrong.
Exit apply(Client& client, const ApplyOptions& options);

struct GetOptions {
  std::string kind;  // any spelling, or "kind/name"
  std::vector<std::string> names;
  std::map<std::string, std::string> labels;
  Output output = Output::Table;
};
Exit get(Client& client, const GetOptions& options);

struct DeleteOptions {
  std::string kind;
  std::vector<std::string> names;
};
Exit remove(Client& client, const DeleteOptions& options);

struct WatchOptions {
  std::vector<std::string> kinds;
  Output output = Output::Table;  // or Json: one line per event
  int64_t after_revision = 0;
  uint64_t count = 0;  // stop after so many changes; 0: never
};
Exit watch(Client& client, const WatchOptions& options);

// "service/web", "service web" and "svc/web" name the same; `names` gets what follows the kind.
Status split_target(std::string& kind, std::vector<std::string>& names);
// kInvalidArgument if one of them cannot be a resource's name, and so need not be asked for.
Status check_names(resource::Kind kind, const std::vector<std::string>& names);

}  // namespace holdfast::cli
