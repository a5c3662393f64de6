// The one table printer: no borders, upper-case headers, columns as wide as they need.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace holdfast::cli {

using Row = std::vector<std::string>;

// A table that goes on after it was printed: later rows keep the columns as far as they fit.
// Cells are shown with control characters escaped and nothing wrapped; an empty cell is "-".
class Table {
 public:
  explicit Table(Row headers) : headers_(std::move(headers)), widths_(headers_.size(), 0) {}

  // The headers and the first rows.
  std::string begin(const std::vector<Row>& rows);
  // One more.
  std::string more(const Row& row);

 private:
  std::string line(const Row& cells) const;
  void widen(const Row& cells);

  Row headers_;
  std::vector<size_t> widths_;
};

std::string render_table(const Row& headers, const std::vector<Row>& rows);

}  // namespace holdfast::cli
