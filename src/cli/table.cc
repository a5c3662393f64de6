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

Row shown(const Row& cells) {
  Row safe;
  for (const std::string& cell : cells) safe.push_back(shown(cell));
  return safe;
}

}  // namespace

std::string Table::line(const Row& cells) const {
  std::string out;
  for (size_t i = 0; i < cells.size(); ++i) {
    out += cells[i];
    if (i + 1 < cells.size()) out += std::string(widths_[i] - width(cells[i]) + kGap, ' ');
  }
  return out + "\n";
}

void Table::widen(const Row& cells) {
  for (size_t i = 0; i < cells.size(); ++i) widths_[i] = std::max(widths_[i], width(cells[i]));
}

std::string Table::begin(const std::vector<Row>& rows) {
  std::vector<Row> lines = {headers_};
  for (const Row& row : rows) lines.push_back(shown(row));
  for (const Row& row : lines) widen(row);
  std::string out;
  for (const Row& row : lines) out += line(row);
  return out;
}

std::string Table::more(const Row& row) {
  const Row safe = shown(row);
  widen(safe);
  return line(safe);
}

std::string render_table(const Row& headers, const std::vector<Row>& rows) {
  return Table(headers).begin(rows);
}

}  // namespace holdfast::cli
