// What the pod was like, kept in one of its annotations, so that a second run knows what is its own
// and everything can be taken away again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "inject/json_edit.h"

namespace holdfast::inject {

constexpr std::string_view kRecordAnnotation = "holdfast.dev/original-probes";
// Kubernetes takes 256 KiB for all annotations together.
constexpr size_t kMaxRecordBytes = 192 * 1024;

struct Record {
  bool present = false;
  uint16_t port = 0;                 // of the handler; 0 if the probes were left as they are
  std::vector<uint16_t> excluded{};  // what was added to the lists of exclusions
  json::object probes{};             // container -> probe -> {"httpGet": ...} as it was
  json::object annotations{};        // what was written over, as lists of none or one
  json::object made{};               // parents that were absent or null: metadata, annotations, ...
  json::object env{};                // of a sidecar that was there already, as it was
  std::string name{};                // of the sidecar
  std::string sidecar{};             // the list that got a sidecar; empty: none was added
};

Status wrong_record();  // HF7105

// Of the pod; not present if it has none. HF7105: an annotation that is not from here.
Result<Record> read_record(const json::object& pod);
std::string to_text(const Record& record);

// The original of a probe, null if it is not in the record.
const json::object* original_of(const Record& record, std::string_view container,
                                std::string_view slot);

}  // namespace holdfast::inject
