#include "resource/yaml_documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "resource/input_text.h"

namespace holdfast::resource {
namespace {

using std::string_view;

bool is_mark(string_view line, string_view mark) {
  if (!line.starts_with(mark)) return false;
  return line.size() == mark.size() || string_view(" \t\r\n").contains(line[mark.size()]);
}

bool is_blank(string_view line) {
  const size_t first = line.find_first_not_of(" \t\r\n");
  return first == string_view::npos || line[first] == '#';
}

// The first character YAML does not allow to stand unescaped, or a carriage return that ends no
// line.
std::optional<ParseError> wrong_character(string_view text) {
  for (size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<uint8_t>(text[at]);
    const bool lone_return = byte == '\r' && !text.substr(at + 1).starts_with('\n');
    const bool control =
        (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') || byte == 0x7f;
    if (!lone_return && !control) continue;
    return ParseError{
        .at = position_of(text, at),
        .message = lone_return ? "a carriage return without a line feed; end lines with LF or CRLF"
                               : fmt::format("control character 0x{:02x}; escape it", byte)};
  }
  return std::nullopt;
}

// The library keeps every open bracket in memory before it tells of the first one. Brackets in text
// count too, so this is far above the depth that is allowed.
constexpr size_t kMaxOpenBrackets = 1024;

std::optional<ParseError> too_many_brackets(const YamlDocument& document,
                                            const ParseOptions& options) {
  size_t open = 0;
  for (size_t at = 0; at < document.text.size(); ++at) {
    const char c = document.text[at];
    if (c == '[' || c == '{') ++open;
    if ((c == ']' || c == '}') && open > 0) --open;
    if (open <= kMaxOpenBrackets) continue;
    Position position = position_of(document.text, at);
    position.line += document.first_line - 1;
    return too_deep(position, options);
  }
  return std::nullopt;
}

// The lines of one document while it is being collected.
struct Open {
  size_t start = 0;
  uint32_t first_line = 1;
  bool has_content = false;
};

ParseError too_many_documents(uint32_t line, const ParseOptions& options) {
  return {.code = ErrorCode::TooLarge,
          .at = {line, 1},
          .message = fmt::format("more than {} documents; split the input", options.max_documents)};
}

// Why the document is refused as a whole, if it is.
std::optional<ParseError> wrong_document(const YamlDocument& document,
                                         const ParseOptions& options) {
  if (document.text.size() <= options.max_document_bytes) {
    return too_many_brackets(document, options);
  }
  ParseError error =
      too_many_bytes("the document", document.text.size(), options.max_document_bytes);
  error.at.line = document.first_line;
  return error;
}

}  // namespace

Parsed<std::vector<YamlDocument>> split_yaml(string_view text, const ParseOptions& options) {
  if (auto wrong = wrong_character(text)) return std::unexpected(*std::move(wrong));
  std::vector<YamlDocument> out;
  Open open;
  uint32_t line_number = 1;
  const auto end_document = [&](size_t offset, uint32_t next_line) {
    if (open.has_content)
      out.push_back({text.substr(open.start, offset - open.start), open.first_line});
    open = {.start = offset, .first_line = next_line};
  };
  for (size_t at = 0; at < text.size(); ++line_number) {
    const string_view line = text.substr(at, text.find('\n', at) - at);
    if (is_mark(line, "---")) end_document(at, line_number);
    if (!open.has_content && line.starts_with('%')) {
      return std::unexpected(ParseError{
          .at = {line_number, 1}, .message = "directives (%) are not allowed; remove the line"});
    }
    if (!is_blank(line)) open.has_content = true;
    at = std::min(at + line.size() + 1, text.size());
    if (is_mark(line, "...")) end_document(at, line_number + 1);
    if (out.size() > options.max_documents) {
      return std::unexpected(too_many_documents(line_number, options));
    }
  }
  end_document(text.size(), line_number);
  if (out.size() > options.max_documents) {
    return std::unexpected(too_many_documents(line_number, options));
  }
  for (const YamlDocument& document : out) {
    if (auto wrong = wrong_document(document, options)) return std::unexpected(*std::move(wrong));
  }
  return out;
}

}  // namespace holdfast::resource
