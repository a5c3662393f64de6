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

std::string shown_cell(const std::string& cell, size_t max_bytes) {
  if (cell.empty()) return "-";
  const std::string safe = in_quotes(cell, max_bytes);
  return safe.substr(1, safe.size() - 2);
}

}  // namespace

Row Table::shown(const Row& cells) const {
  Row safe;
  for (const std::string& cell : cells) {
    const bool whole = last_ == LastColumn::Whole && safe.size() + 1 == headers_.size();
    safe.push_back(shown_cell(cell, whole ? cell.size() : kWidestCell));
  }
  return safe;
}

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

std::string render_table(const Row& headers, const std::vector<Row>& rows, LastColumn last) {
  return Table(headers, last).begin(rows);
}

}  // namespace holdfast::cli
