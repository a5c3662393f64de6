// The one table printer: no borders, upper-case headers, columns as wide as they need.
#pragma once

#include <string>
#include <vector>

namespace holdfast::cli {

using Row = std::vector<std::string>;

// Cells are shown with control characters escaped and nothing wrapped; an empty cell is "-".
std::string render_table(const Row& headers, const std::vector<Row>& rows);

}  // namespace holdfast::cli
