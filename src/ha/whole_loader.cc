#include "ha/whole_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

namespace holdfast::ha {
namespace {

namespace fs = std::filesystem;

std::string ending(const store::Head& head) {
  return fmt::format("-{}-{}-{:016x}.sqlite", head.epoch, head.revision, head.chain);
}

std::vector<std::string> names_with(const std::string& folder, std::string_view end) {
  std::vector<std::string> names;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(end)) names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace

std::string whole_store_name(WallTime at, const store::Head& head) {
  std::string stamp = to_rfc3339(at).substr(0, 19);
  std::erase_if(stamp, [](char c) { return c == '-' || c == ':'; });
  return stamp + ending(head);
}

std::vector<std::string> whole_stores(const std::string& folder) {
  return names_with(folder, ".sqlite");
}

void remove_unfinished_stores(const std::string& folder) {
  std::error_code error;
  for (const std::string& name : names_with(folder, ".sqlite.part")) {
    fs::remove(folder + "/" + name, error);
  }
}

std::string find_whole_store(const std::string& folder, const store::Head& head) {
  const std::string wanted = ending(head);
  for (const std::string& name : whole_stores(folder)) {
    if (name.ends_with(wanted)) return name;
  }
  return "";
}

std::vector<std::string> trim_whole_stores(const std::string& folder,
                                           const std::vector<std::string>& needed) {
  std::vector<std::string> names = whole_stores(folder);
  std::erase_if(names, [&](const std::string& name) {
    return std::ranges::find(needed, name) != needed.end();
  });
  names.resize(names.size() - std::min(names.size(), kMaxWholeStores));
  std::error_code error;
  for (const std::string& name : names) fs::remove(folder + "/" + name, error);
  return names;
}

void discard_whole_store(const std::string& folder, const store::Head& head) {
  const std::string name = find_whole_store(folder, head);
  std::error_code error;
  if (!name.empty()) fs::remove(folder + "/" + name, error);
}

}  // namespace holdfast::ha
