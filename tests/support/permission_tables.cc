#include "support/permission_tables.h"

#include <fstream>
#include <sstream>
#include <vector>

#include "base/check.h"

namespace holdfast::test {
namespace {

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::stringstream rest(line.substr(1));
  for (std::string cell; std::getline(rest, cell, '|');) {
    const size_t begin = cell.find_first_not_of(' ');
    if (begin == std::string::npos) continue;
    cells.push_back(cell.substr(begin, cell.find_last_not_of(' ') - begin + 1));
  }
  return cells;
}

}  // namespace

PermissionTable permission_table(const std::string& file, const std::string& heading) {
  std::ifstream document(file);
  std::string line;
  while (std::getline(document, line) && line != "## " + heading) continue;
  std::vector<std::string> head;
  PermissionTable table;
  while (std::getline(document, line) && !line.starts_with("## ")) {
    if (!line.starts_with("|") || line.starts_with("| ---")) continue;
    const std::vector<std::string> cells = cells_of(line);
    if (head.empty()) {
      head = cells;
      continue;
    }
    HF_CHECK(cells.size() == head.size(), "every row has as many cells as the first: " + line);
    for (size_t i = 1; i < cells.size(); ++i) {
      const bool is_new = table[cells[0]].emplace(head[i], cells[i]).second;
      HF_CHECK(is_new, "no row comes twice: " + line);
    }
  }
  return table;
}

}  // namespace holdfast::test
