#include "inject/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/reason.h"
#include "inject/source_edit.h"

namespace holdfast::inject {
namespace {

using std::string_view;

constexpr string_view kByteOrderMark = "\xef\xbb\xbf";

Status too_long(string_view what, size_t limit) {
  return coded(absl::StatusCode::kInvalidArgument, "HF7107",
               fmt::format("the {} is longer than {} bytes", what, limit));
}

bool is_mark(string_view line, string_view mark) {
  if (!line.starts_with(mark)) return false;
  return line.size() == mark.size() || string_view(" \t\r").contains(line[mark.size()]);
}

// Comments, directives and marks alone make no document.
bool has_content(string_view line) {
  if (line == "---" || line == "---\r" || line.starts_with('%')) return false;
  if (is_mark(line, "...")) return false;
  const size_t first = line.find_first_not_of(" \t\r");
  return first != string_view::npos && line[first] != '#';
}

struct Chunk {
  string_view text;
  size_t first_line = 1;
  bool content = false;
};

// The documents of a YAML stream, each with the mark that begins it; together they are the text.
std::vector<Chunk> split(string_view text) {
  std::vector<Chunk> out;
  size_t begin = 0;
  size_t line_number = 1;
  Chunk open;
  const auto end_chunk = [&](size_t end) {
    open.text = text.substr(begin, end - begin);
    if (!open.text.empty()) out.push_back(open);
    begin = end;
    open = {.text = {}, .first_line = line_number};
  };
  for (size_t at = 0; at < text.size(); ++line_number) {
    const string_view line = text.substr(at, std::min(text.find('\n', at), text.size()) - at);
    if (is_mark(line, "---")) end_chunk(at);
    if (has_content(line)) open.content = true;
    at = std::min(at + line.size() + 1, text.size());
    if (!is_mark(line, "...")) continue;
    ++line_number;
    end_chunk(at);
    --line_number;
  }
  end_chunk(text.size());
  return out;
}

class ManifestTranslation {
 public:
  explicit ManifestTranslation(const ManifestOptions& options) : options_(options) {}

  // One document, which is `root` in `text`.
  Status document(string_view text, const SourceNode& root, Syntax syntax) {
    const boost::json::value value = to_value(root);
    TRY(const Translation translation,
        options_.undo ? undo(value, options_.inject) : translate(value, options_.inject));
    for (const Warning& warning : translation.warnings) out_.warnings.push_back(warning);
    if (translation.patch.empty()) {
      out_.text += text;
      return absl::OkStatus();
    }
    TRY(const Edited edited, edit_source(text, root, translation.patch, syntax));
    if (edited.rewritten) {
      out_.warnings.push_back(
          {"HF7126", "",
           "a document was written anew, so its comments, anchors and layout are lost"});
    }
    out_.text += edited.text;
    out_.changed += 1;
    return absl::OkStatus();
  }

  Status yaml(string_view text) {
    for (const Chunk& chunk : split(text)) {
      if (!chunk.content) {
        out_.text += chunk.text;
        continue;
      }
      const Status done = yaml_chunk(chunk);
      if (done.ok()) continue;
      const Reason reason = split_reason(done);
      return coded(done.code(), reason.code.empty() ? "HF7108" : reason.code,
                   fmt::format("document at line {}: {}", chunk.first_line, reason.message));
    }
    return absl::OkStatus();
  }

  // Values one after another. False if the text is no JSON, which it may still be as YAML.
  Result<bool> json(string_view text) {
    std::vector<std::pair<string_view, SourceNode>> documents;
    size_t at = 0;
    while (text.find_first_not_of(" \t\r\n", at) != string_view::npos) {
      size_t end = 0;
      const string_view rest = text.substr(at);
      Result<SourceNode> node = read_json_source(rest, end);
      if (!node.ok()) return false;
      documents.emplace_back(rest.substr(0, end), *std::move(node));
      at += end;
    }
    for (const auto& [source, node] : documents) TRY_OK(document(source, node, Syntax::Json));
    out_.text += text.substr(at);
    out_.json = true;
    return true;
  }

  Manifest take() { return std::move(out_); }

 private:
  Status yaml_chunk(const Chunk& chunk) {
    if (chunk.text.size() > kMaxDocumentBytes) return too_long("document", kMaxDocumentBytes);
    TRY(const SourceNode root, read_yaml_source(chunk.text));
    if (root.shape == SourceNode::Shape::Null) {
      out_.text += chunk.text;
      return absl::OkStatus();
    }
    return document(chunk.text, root, Syntax::Yaml);
  }

  const ManifestOptions& options_;
  Manifest out_;
};

}  // namespace

Result<Manifest> translate_manifest(string_view text, const ManifestOptions& options) {
  if (text.size() > kMaxManifestBytes) return too_long("text", kMaxManifestBytes);
  const bool marked = text.starts_with(kByteOrderMark);
  if (marked) text.remove_prefix(kByteOrderMark.size());
  ManifestTranslation translation(options);
  const size_t first = text.find_first_not_of(" \t\r\n");
  const bool maybe_json = first != string_view::npos && (text[first] == '{' || text[first] == '[');
  bool is_json = false;
  if (maybe_json) {
    TRY(is_json, translation.json(text));
  }
  if (!is_json) TRY_OK(translation.yaml(text));
  Manifest out = translation.take();
  if (marked) out.text.insert(0, kByteOrderMark);
  return out;
}

}  // namespace holdfast::inject
