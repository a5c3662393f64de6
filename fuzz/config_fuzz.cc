// Foreign bytes as a configuration file, and as what the environment says of one key. The first
// byte chooses; whatever is wrong must also be shown without harm.
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "base/check.h"
#include "config/load.h"

namespace {

void read(const holdfast::config::Sources& sources) {
  const holdfast::config::Checked checked = holdfast::config::check(sources);
  const std::string shown = holdfast::config::problems_text(checked.problems, sources.file_text);
  HF_CHECK(shown.empty() == checked.problems.empty(), "every problem is shown");
  if (holdfast::config::has_error(checked.problems)) return;
  // What is in effect reads back as the same.
  holdfast::config::Sources again = {};
  again.file_text = "version: 1";
  again.machine = sources.machine;
  for (const holdfast::config::Setting& setting : checked.loaded.settings) {
    const std::string text = holdfast::config::value_text(*setting.key, setting.value);
    if (!text.empty() && !setting.key->only_in_file)
      again.environment[environment_name(*setting.key)] = text;
  }
  const auto loaded = holdfast::config::load(again);
  HF_CHECK(loaded.ok(), "a good value prints as a good value");
  const auto changed = holdfast::config::changes(checked.loaded, *loaded);
  HF_CHECK(changed.need_restart.size() <= 2, "only a listener that is off prints as nothing");
  HF_CHECK(changed.live.empty(), "a value reads back the same");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto keys = holdfast::config::keys();
  const size_t chosen = data[0];
  const std::map<std::string, std::string> machine = {{"controller.name", "n"},
                                                      {"controller.data_dir", "/d"}};
  if (chosen < keys.size()) {
    read({.file_path = "f",
          .file_text = "",
          .environment = {{environment_name(keys[chosen]), text}},
          .flags = {},
          .machine = machine});
  } else {
    read({.file_path = "f", .file_text = text, .environment = {}, .flags = {}, .machine = machine});
  }
  return 0;
}
