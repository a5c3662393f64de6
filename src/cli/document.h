// The JSON and YAML a verb prints that is not about resources: every one says its version and kind,
// and only ever gets more fields.
#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "resource/node.h"

namespace holdfast::cli {

class Document {
 public:
  // {"apiVersion": ..., "kind": `kind`}
  explicit Document(std::string_view kind);
  // With every field of the message that is set.
  Document(std::string_view kind, const google::protobuf::Message& message);

  // Adds or replaces.
  void set(std::string_view key, resource::Node value);
  void set_text(std::string_view key, std::string_view text);
  void set_number(std::string_view key, int64_t number);

  std::string json() const;  // ends with a line end
  std::string yaml() const;

 private:
  resource::Node root_;
};

resource::Node text_node(std::string_view text);
resource::Node number_node(int64_t number);

}  // namespace holdfast::cli
