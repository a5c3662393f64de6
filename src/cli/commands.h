// What each verb does once its options are known. One file per verb; main() only parses.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cli/client.h"
#include "cli/errors.h"

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

}  // namespace holdfast::cli
