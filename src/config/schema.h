// What the table of keys tells editors and readers: a JSON Schema of the file, and the keys as a
// table in Markdown.
#pragma once

#include <string>

namespace holdfast::config {

// Draft 2020-12. Strict as the reader is about names, types, words and the form of values; ranges
// of durations and sizes, and relations between keys, are left to `holdfast config validate`.
std::string json_schema();

// "| key | default | … |", one line for each key.
std::string markdown_table();

}  // namespace holdfast::config
