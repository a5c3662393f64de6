// A document as a tree in which every part knows its line and column: what the JSON and YAML
// readers produce, and what everything after them works on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace holdfast::resource {

// Both count from 1; columns count bytes.
struct Position {
  uint32_t line = 1;
  uint32_t column = 1;
  friend bool operator==(const Position&, const Position&) = default;
};

// What input may cost. Anything beyond is refused with ErrorCode::TooLarge.
struct ParseOptions {
  // Checked before anything is read.
  size_t max_input_bytes = size_t{4} << 20;
  // A YAML stream holds many documents, JSON one.
  size_t max_document_bytes = size_t{1} << 20;
  size_t max_documents = 10'000;
  size_t max_depth = 32;
  // Scalars, sequences and mappings in all documents together.
  size_t max_nodes = 100'000;
};

// Shown to people as HF6002 and so on.
enum class ErrorCode : uint16_t {
  Syntax = 6002,
  TooLarge = 6003,
  UnknownField = 6004,
  WrongValue = 6005,
  Duplicate = 6006,
};

struct ParseError {
  ErrorCode code = ErrorCode::Syntax;
  Position at = {};
  // Path of the field, as "spec.ports[0].port"; empty if the text could not be read that far.
  std::string field = {};
  std::string message = {};
};

template <typename T>
using Parsed = std::expected<T, ParseError>;

struct Member;

struct Node {
  enum class Shape : uint8_t { Null, Scalar, Sequence, Mapping };

  static Node null(Position at);
  static Node scalar(std::string text, bool quoted, Position at = {});
  static Node sequence(Position at = {});
  static Node mapping(Position at = {});

  Shape shape = Shape::Null;
  // Of a scalar: it stood in quotes or was otherwise marked as text, so it is never a number.
  bool quoted = false;
  Position at;
  std::string text;             // Scalar
  std::vector<Node> items;      // Sequence
  std::vector<Member> members;  // Mapping, in the order of the text
};

struct Member {
  std::string key = {};
  Position key_at = {};
  Node value = {};
};

// The member of that key, or null.
const Node* find_member(const Node& mapping, std::string_view key);
// The first member whose key an earlier one has, or null.
const Member* first_duplicate(const Node& mapping);

// One document of strict JSON (RFC 8259): no comments, no trailing commas, no key twice.
Parsed<Node> read_json(std::string_view text, const ParseOptions& options = {});

// Every document of a YAML stream that is not empty. Anchors, aliases, directives, tags outside
// the core schema, keys that are not text, and keys given twice are errors.
Parsed<std::vector<Node>> read_yaml(std::string_view text, const ParseOptions& options = {});

// kInvalidArgument "5:3: spec.prots: unknown field; did you mean \"ports\"?".
Status to_status(const ParseError& error);

// The error as a compiler shows it, with the line it is about; ends with a line end. `text` is what
// was parsed.
//
//   web.yaml:5:3: error HF6004: spec.prots: unknown field; did you mean "ports"?
//       5 |   prots: []
//         |   ^~~~~
std::string format_error(std::string_view file, std::string_view text, const ParseError& error);
// Its last two lines alone; empty if the line is too long to show or not there.
std::string source_excerpt(std::string_view text, Position at);

}  // namespace holdfast::resource
