// The files of testdata/ that golden tests and tests with foreign tools share.
#pragma once

#include <boost/json/value.hpp>

#include <filesystem>
#include <string>
#include <vector>

#include "inject/manifest.h"

namespace holdfast::inject {

// Every NAME.input.yaml and NAME.input.json of the folder testdata/, in order.
std::vector<std::filesystem::path> golden_inputs(const std::string& folder);
std::string read_file(const std::filesystem::path& path);
// As the first line of the text says.
ManifestOptions golden_options(const std::string& text);
// The values of all documents of a text.
std::vector<boost::json::value> values_of(const std::string& text);

}  // namespace holdfast::inject
