// Where this checkout and its programs are, found from the running test binary: no path of the
// building machine is compiled in, so compilers' results can be shared between checkouts.
#pragma once

#include <string>
#include <string_view>

namespace holdfast::test {

// A program that was built beside this test: built("holdfastd"). "" is their folder.
std::string built(std::string_view program);

// A file of the source tree: in_tree("docs/pair.md"). "" is the tree's folder.
std::string in_tree(std::string_view path);

}  // namespace holdfast::test
