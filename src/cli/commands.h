// The verbs on resources, once their options are known. One file per verb; app/ only parses.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/errors.h"
#include "cli/session.h"

namespace holdfast::cli {

enum class Output { Table, Wide, Json, Yaml, Name };

struct ApplyOptions {
  std::vector<std::string> files;  // "-" is standard input
  bool dry_run = false;
};
// Creates what is not there, updates what differs, says which. Nothing is sent if any document is
// wrong.
Exit apply(const Session& session, const ApplyOptions& options);

struct GetOptions {
  std::string kind;  // any spelling, or "kind/name"
  std::vector<std::string> names;
  std::map<std::string, std::string> labels;
  Output output = Output::Table;
  bool watch = false;  // goes on with changes
  uint64_t count = 0;  // of changes after which it ends; 0: never
  std::string node{};  // for caches: whose own socket is asked, instead of a controller
};
Exit get(const Session& session, const GetOptions& options);

struct DescribeOptions {
  std::string kind;
  std::vector<std::string> names;
};
Exit describe(const Session& session, const DescribeOptions& options);

struct DeleteOptions {
  std::string kind;
  std::vector<std::string> names;
};
Exit remove(const Session& session, const DeleteOptions& options);

struct WatchOptions {
  std::vector<std::string> kinds;
  Output output = Output::Table;  // or Json: one line per event
  int64_t after_revision = 0;
  uint64_t count = 0;  // stop after so many changes; 0: never
};
Exit watch(const Session& session, const WatchOptions& options);

}  // namespace holdfast::cli
