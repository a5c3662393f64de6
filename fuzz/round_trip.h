// What every resource that could be read must withstand: being judged, listed, printed, and read
// back as the same.
#pragma once

#include <google/protobuf/util/message_differencer.h>

#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/check.h"
#include "resource/codec.h"
#include "resource/registry.h"
#include "resource/validation.h"

namespace holdfast::fuzz {

inline void must_read_back(const v1::Resource& resource, std::string_view text,
                           resource::Format format) {
  // Printing may make a text longer, never the resource itself.
  const resource::ParseOptions options{.max_input_bytes = size_t{64} << 20,
                                       .max_document_bytes = size_t{64} << 20};
  const auto again = resource::parse_resources(text, format, options);
  HF_CHECK(again.has_value(), text);
  HF_CHECK(again->size() == 1, text);
  HF_CHECK(google::protobuf::util::MessageDifferencer::Equals(again->front(), resource), text);
}

inline void round_trip(const v1::Resource& resource) {
  const bool valid = resource::validate(resource).ok();
  const std::string json = resource::to_json(resource);
  const std::string pretty = resource::to_json_pretty(resource);
  const std::string yaml = resource::to_yaml(resource);
  if (const auto kind = resource::kind_of(resource)) {
    for (const auto& column : resource::info(*kind).columns) {
      resource::cell_text(resource, column.path);
    }
  }
  if (!valid) return;
  must_read_back(resource, json, resource::Format::Json);
  must_read_back(resource, pretty, resource::Format::Auto);
  must_read_back(resource, yaml, resource::Format::Auto);
  HF_CHECK(resource::validate(resource::without_secrets(resource)).ok(),
           "a resource is valid without its secrets");
}

// Reads `text` as a user's file is read, and shows the error if there is one.
inline void read_text(std::string_view text, resource::Format format) {
  const auto resources = resource::parse_resources(text, format);
  if (!resources) {
    const std::string shown = resource::format_error("input", text, resources.error());
    HF_CHECK(!first_invalid_utf8(shown), "an error is shown as UTF-8");
    HF_CHECK(shown.find_first_of("\x1b\r\b\x7f") == std::string::npos,
             "an error leaves the terminal as it is");
    HF_CHECK(!resource::to_status(resources.error()).ok(), "an error is a failure");
    return;
  }
  for (const v1::Resource& resource : *resources) round_trip(resource);
}

}  // namespace holdfast::fuzz
