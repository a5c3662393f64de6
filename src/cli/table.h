// The one table printer: no borders, upper-case headers, columns as wide as they need.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace holdfast::cli {

using Row = std::vector<std::string>;

enum class LastColumn { Cut, Whole };

// A table that goes on after it was printed: later rows keep the columns as far as they fit.
// Cells are shown with control characters escaped and nothing wrapped; an empty cell is "-". A long
// one is cut, except in the last column of a table that keeps it whole: one that nobody's terminal
// would wrap, or that was asked for wide.
class Table {
 public:
  explicit Table(Row headers, LastColumn last = LastColumn::Cut)
      : headers_(std::move(headers)), last_(last), widths_(headers_.size(), 0) {}

  // The headers and the first rows.
  std::string begin(const std::vector<Row>& rows);
  // One more.
  std::string more(const Row& row);

 private:
  Row shown(const Row& cells) const;
  std::string line(const Row& cells) const;
  void widen(const Row& cells);

  Row headers_;
  LastColumn last_;
  std::vector<size_t> widths_;
};

std::string render_table(const Row& headers, const std::vector<Row>& rows,
                         LastColumn last = LastColumn::Cut);

}  // namespace holdfast::cli
