// The tables of docs/permissions.md, read back, so that tests compare what is written with what is
// done.
#pragma once

#include <map>
#include <string>

namespace holdfast::test {

// row -> column -> cell.
using PermissionTable = std::map<std::string, std::map<std::string, std::string>>;

// The table under "## HEADING" of the document in this file. Requires: every row has as many cells
// as the first one, and none comes twice.
PermissionTable permission_table(const std::string& file, const std::string& heading);

}  // namespace holdfast::test
