#include "cli/table.h"

#include <algorithm>

#include "base/bytes.h"

namespace holdfast::cli {
namespace {

constexpr size_t kGap = 3;
constexpr size_t kWidestCell = 80;

// Characters, not bytes: every byte that does not continue another.
size_t width(const std::string& text) {
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }));
}

std::string shown(const std::string& cell) {
  if (cell.empty()) return "-";
  const std::string safe = quoted(cell, kWidestCell);
  return safe.substr(1, safe.size() - 2);
}

std::string line(const Row& cells, const std::vector<size_t>& widths) {
  std::string out;
  for (size_t i = 0; i < cells.size(); ++i) {
    out += cells[i];
    if (i + 1 < cells.size()) out += std::string(widths[i] - width(cells[i]) + kGap, ' ');
  }
  return out + "\n";
}

}  // namespace

std::string render_table(const Row& headers, const std::vector<Row>& rows) {
  std::vector<Row> lines = {headers};
  for (const Row& row : rows) {
    Row& safe = lines.emplace_back();
    for (const std::string& cell : row) safe.push_back(shown(cell));
  }
  std::vector<size_t> widths(headers.size(), 0);
  for (const Row& row : lines) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  std::string out;
  for (const Row& row : lines) out += line(row, widths);
  return out;
}

}  // namespace holdfast::cli
