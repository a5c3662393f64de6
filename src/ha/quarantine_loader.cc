#include "ha/quarantine_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/bytes.h"
#include "base/log.h"
#include "base/private_file.h"
#include "base/reason.h"
#include "ha/whole_loader.h"

namespace holdfast::ha {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".jsonl";
constexpr const char* kDone = ".done";  // after the name
constexpr size_t kMaxHeaderBytes = size_t{16} << 10;

Status none_of(const std::string& name) {
  return coded(absl::StatusCode::kNotFound, "HF4131",
               fmt::format("there is no divergence {}", in_quotes(name)));
}

// Nothing that leads out of the folder.
bool is_name(const std::string& name) {
  return name.ends_with(kEnding) && !name.contains('/') && !name.starts_with('.');
}

// "2026-11-16T10:15:00.250Z" without what a file's name should not have.
std::string stamp(WallTime at) {
  std::string text = to_rfc3339(at).substr(0, 19);
  std::erase_if(text, [](char c) { return c == '-' || c == ':'; });
  return text;
}

void make_room(const std::string& folder) {
  std::vector<std::string> files = quarantine_files(folder);
  for (size_t i = 0; i < files.size() && files.size() - i >= kMaxQuarantineFiles; ++i) {
    const Result<QuarantineHeader> old = load_quarantine_header(folder, files[i]);
    if (!old.ok() || old->acknowledged || old->left_out > 0) continue;
    log::warn("a divergence that was never acknowledged is removed: too many wait for a decision",
              {{"file", files[i]}});
    static_cast<void>(discard_quarantine(folder, files[i]));
  }
}

}  // namespace

Result<std::string> save_quarantine(const std::string& folder, const QuarantineHeader& header,
                                    std::string_view text) {
  TRY_OK(make_private_folder(folder));
  make_room(folder);
  const std::string name = fmt::format("{}-{}{}", stamp(header.at), header.head.revision, kEnding);
  TRY_OK(write_private_file(folder + "/" + name, text));
  return name;
}

std::vector<std::string> quarantine_files(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (is_name(name)) names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

Result<Quarantine> load_quarantine(const std::string& folder, const std::string& name) {
  if (!is_name(name)) return none_of(name);
  const Result<std::string> text =
      read_file(folder + "/" + name, QuarantineLimits{}.max_bytes + (size_t{1} << 20));
  if (absl::IsNotFound(text.status())) return none_of(name);
  TRY_OK(text.status());
  return parse_quarantine(*text);
}

Result<QuarantineHeader> load_quarantine_header(const std::string& folder,
                                                const std::string& name) {
  if (!is_name(name)) return none_of(name);
  std::ifstream file(folder + "/" + name, std::ios::binary);
  if (!file) return none_of(name);
  std::string start(kMaxHeaderBytes, '\0');
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<size_t>(file.gcount()));
  return parse_quarantine_header(std::string_view(start).substr(0, start.find('\n')));
}

std::vector<std::string> needed_whole_stores(const std::string& folder) {
  std::set<std::string> needed;
  for (const std::string& name : quarantine_files(folder)) {
    const Result<QuarantineHeader> header = load_quarantine_header(folder, name);
    if (!header.ok()) return whole_stores(folder);
    if (header->left_out > 0) needed.insert(find_whole_store(folder, header->head));
  }
  needed.erase("");
  return {needed.begin(), needed.end()};
}

Status set_gone_through(const std::string& folder, const std::string& name) {
  return write_private_file(folder + "/" + name + kDone, "");
}

bool is_gone_through(const std::string& folder, const std::string& name) {
  std::error_code error;
  return fs::exists(folder + "/" + name + kDone, error);
}

Status discard_quarantine(const std::string& folder, const std::string& name) {
  std::error_code error;
  if (!is_name(name) || !fs::remove(folder + "/" + name, error)) return none_of(name);
  fs::remove(folder + "/" + name + kDone, error);
  return absl::OkStatus();
}

}  // namespace holdfast::ha
