#include "cli/inject.h"

#include <fmt/format.h>

#include <utility>

#include "base/reason.h"
#include "cli/input_file.h"
#include "cli/output.h"
#include "cli/reasons.h"
#include "inject/line_diff.h"

namespace holdfast::cli {
namespace {

struct File {
  std::string name;
  std::string before;
  inject::Manifest after;
};

Exit refused(const Console& console, Exit exit, const Reason& reason, std::string message) {
  const std::string code(reason.code.empty() ? "HF7108" : reason.code);
  const ReasonInfo* row = find_reason(code);
  return console.report(
      {exit, code, std::move(message), row == nullptr ? "" : std::string(row->next)});
}

// Of all files together; whether there were any.
bool print_warnings(const std::vector<File>& files) {
  std::vector<inject::Warning> all;
  for (const File& file : files) {
    for (inject::Warning warning : file.after.warnings) {
      warning.place =
          warning.place.empty() ? file.name : fmt::format("{}: {}", file.name, warning.place);
      all.push_back(std::move(warning));
    }
  }
  for (const inject::Warning& warning : inject::condensed(all)) {
    print_err(fmt::format("warning {}\n", to_text(warning)));
  }
  return !all.empty();
}

// Puts a text behind others so that each of its documents stays one.
void append(std::string& out, const inject::Manifest& manifest) {
  const std::string& text = manifest.text;
  if (!out.empty() && !out.ends_with('\n') && !text.empty()) out += '\n';
  if (!out.empty() && !text.starts_with("---")) out += "---\n";
  out += text;
}

std::string printed(const std::vector<File>& files, bool diff) {
  std::string out;
  bool all_json = true;
  for (const File& file : files) all_json = all_json && file.after.json;
  for (const File& file : files) {
    if (diff) {
      out += inject::unified_diff(file.before, file.after.text,
                                  {.before = file.name, .after = file.name + " (injected)"});
    } else if (all_json) {
      out += file.after.text;
      if (!out.ends_with('\n')) out += files.size() > 1 ? "\n" : "";
    } else {
      append(out, file.after);
    }
  }
  return out;
}

}  // namespace

Exit inject_probes(const Console& console, const InjectCommand& command) {
  if (const Status options = inject::check_options(command.manifest.inject); !options.ok()) {
    const Reason reason = split_reason(options);
    return refused(console, Exit::Usage, reason, std::string(reason.message));
  }
  std::vector<File> files;
  for (const std::string& name : command.files) {
    Result<std::string> text = read_input(name, inject::kMaxManifestBytes + 1);
    if (!text.ok()) {
      return console.report({Exit::BadInput, "HF6001", std::string(text.status().message()),
                             "name a readable file with -f, or - for standard input"});
    }
    Result<inject::Manifest> manifest = inject::translate_manifest(*text, command.manifest);
    if (!manifest.ok()) {
      const Reason reason = split_reason(manifest.status());
      return refused(console, Exit::BadInput, reason, fmt::format("{}: {}", name, reason.message));
    }
    files.push_back({name, *std::move(text), *std::move(manifest)});
  }
  const bool warned = print_warnings(files);
  print_out(printed(files, command.diff));
  return warned && command.fail_on_warning ? Exit::Warned : Exit::Ok;
}

}  // namespace holdfast::cli
