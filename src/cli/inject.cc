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

Exit refused(const Console& console, const std::string& file, const Status& status) {
  const Reason reason = split_reason(status);
  const std::string code(reason.code.empty() ? "HF7108" : reason.code);
  const ReasonInfo* row = find_reason(code);
  return console.report({Exit::BadInput, code, fmt::format("{}: {}", file, reason.message),
                         row == nullptr ? "" : std::string(row->next)});
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
  std::vector<File> files;
  for (const std::string& name : command.files) {
    Result<std::string> text = read_input(name, inject::kMaxManifestBytes + 1);
    if (!text.ok()) {
      return console.report({Exit::BadInput, "HF6001", std::string(text.status().message()),
                             "name a readable file with -f, or - for standard input"});
    }
    Result<inject::Manifest> manifest = inject::translate_manifest(*text, command.manifest);
    if (!manifest.ok()) return refused(console, name, manifest.status());
    files.push_back({name, *std::move(text), *std::move(manifest)});
  }
  for (const File& file : files) {
    for (const std::string& warning : file.after.warnings) {
      print_err(fmt::format("warning: {}: {}\n", file.name, warning));
    }
  }
  print_out(printed(files, command.diff));
  return Exit::Ok;
}

}  // namespace holdfast::cli
