#include "cli/config_command.h"

#include <fmt/format.h>

#include <utility>

#include "base/reason.h"
#include "cli/output.h"
#include "config/file_loader.h"
#include "config/load.h"
#include "config/schema.h"

namespace holdfast::cli {
namespace {

// sysexits.h: EX_CONFIG.
constexpr Exit kBadConfig = static_cast<Exit>(78);

struct Reading {
  config::Sources sources;
  config::Checked checked;
};

// What is wrong goes to stderr; false if anything is an error.
bool read(const ConfigOptions& options, Reading& out) {
  Result<config::Sources> sources = config::gather({.file = options.file,
                                                    .default_data_dir = options.default_data_dir,
                                                    .flags = {},
                                                    .role = options.role,
                                                    .pair_times = options.pair_times});
  if (!sources.ok()) {
    const Reason reason = split_reason(sources.status());
    print_err(fmt::format("error {}: {}\n  next: name a readable file with -f\n", reason.code,
                          reason.message));
    return false;
  }
  out.sources = *std::move(sources);
  out.checked = config::check(out.sources);
  print_err(config::problems_text(out.checked.problems, out.sources.file_text));
  return !config::has_error(out.checked.problems);
}

}  // namespace

Exit config_validate(const ConfigOptions& options) {
  Reading reading;
  if (!read(options, reading)) return Exit::BadInput;
  print_out(fmt::format("{} is a good configuration\n", reading.sources.file_path));
  return Exit::Ok;
}

Exit config_show(const ConfigOptions& options) {
  Reading reading;
  if (!read(options, reading)) return kBadConfig;
  config::Loaded& loaded = reading.checked.loaded;
  if (!options.effective) {
    std::erase_if(loaded.settings, [](const config::Setting& setting) {
      return setting.origin.from == config::From::Default;
    });
  }
  print_out(config::effective_text(loaded, options.with_source));
  return Exit::Ok;
}

Exit config_schema() {
  print_out(config::json_schema());
  return Exit::Ok;
}

}  // namespace holdfast::cli
