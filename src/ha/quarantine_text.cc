// The file of a quarantine: lines of flat JSON objects. Bytes that are not plain ASCII are written
// as \u00XX, one for each byte, so that any key goes through unchanged.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "base/reason.h"
#include "ha/quarantine.h"

namespace holdfast::ha {
namespace {

using store::Change;
using store::Entry;
using Fields = std::map<std::string, std::string, std::less<>>;

constexpr int kFormat = 1;

std::string quoted_json(std::string_view bytes) {
  std::string text = "\"";
  for (const char c : bytes) {
    const bool plain = c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
    text += plain ? std::string(1, c) : fmt::format("\\u00{:02x}", static_cast<unsigned char>(c));
  }
  return text + '"';
}

std::string hex_of(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (const char c : bytes) {
    text += kDigits[static_cast<unsigned char>(c) >> 4];
    text += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

template <typename Number>
bool read_number(std::string_view text, Number& number, int base = 10) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

bool read_hex(std::string_view text, std::string& bytes) {
  if (text.size() % 2 != 0) return false;
  bytes.reserve(text.size() / 2);
  for (size_t at = 0; at < text.size(); at += 2) {
    uint8_t byte = 0;
    if (!read_number(text.substr(at, 2), byte, 16)) return false;
    bytes += static_cast<char>(byte);
  }
  return true;
}

// Takes a string with its quotes off the front of `text`.
bool take_string(std::string_view& text, std::string& bytes) {
  if (!text.starts_with('"')) return false;
  text.remove_prefix(1);
  while (!text.empty() && text.front() != '"') {
    uint8_t byte = static_cast<uint8_t>(text.front());
    size_t length = 1;
    if (text.front() == '\\') {
      length = 6;
      if (!text.starts_with("\\u00") || text.size() < length) return false;
      if (!read_number(text.substr(4, 2), byte, 16)) return false;
    }
    bytes += static_cast<char>(byte);
    text.remove_prefix(length);
  }
  if (text.empty()) return false;
  text.remove_prefix(1);
  return true;
}

// {"name":"text","other":12} and nothing else.
std::optional<Fields> read_object(std::string_view text) {
  Fields fields;
  if (!text.starts_with('{') || !text.ends_with('}')) return std::nullopt;
  text.remove_prefix(1);
  for (;;) {
    std::string name;
    std::string value;
    if (!take_string(text, name) || !text.starts_with(':')) return std::nullopt;
    text.remove_prefix(1);
    if (text.starts_with('"')) {
      if (!take_string(text, value)) return std::nullopt;
    } else {
      const size_t length = std::min(text.find_first_of(",}"), text.size());
      value = text.substr(0, length);
      text.remove_prefix(length);
    }
    if (!fields.emplace(std::move(name), std::move(value)).second) return std::nullopt;
    if (text == "}") return fields;
    if (!text.starts_with(',')) return std::nullopt;
    text.remove_prefix(1);
  }
}

template <typename Number>
bool number_at(const Fields& fields, std::string_view name, Number& number) {
  const auto found = fields.find(name);
  return found != fields.end() && read_number(found->second, number);
}

std::string text_at(const Fields& fields, std::string_view name) {
  const auto found = fields.find(name);
  return found == fields.end() ? std::string() : found->second;
}

// `lines`: how many follow, so that a file that was cut is not taken for a whole one.
std::string header_line(const QuarantineHeader& header, uint64_t lines) {
  return fmt::format(
      R"({{"quarantine":{},"node":{},"store_id":{},"at":{},"fork":{},"epoch":{},"revision":{},)"
      R"("chain":{},"winner":{},"acknowledged":{},"entries":{},"left_out":{},"lines":{}}})"
      "\n",
      kFormat, quoted_json(header.node), quoted_json(header.store_id),
      header.at.time_since_epoch().count(), header.fork, header.head.epoch, header.head.revision,
      header.head.chain, header.winner, header.acknowledged ? 1 : 0, header.entries,
      header.left_out, lines);
}

bool read_header(const Fields& fields, QuarantineHeader& header, uint64_t& lines) {
  int format = 0;
  int acknowledged = 0;
  int64_t at = 0;
  header.node = text_at(fields, "node");
  header.store_id = text_at(fields, "store_id");
  const bool good =
      number_at(fields, "quarantine", format) && format == kFormat && number_at(fields, "at", at) &&
      number_at(fields, "fork", header.fork) && number_at(fields, "epoch", header.head.epoch) &&
      number_at(fields, "revision", header.head.revision) &&
      number_at(fields, "chain", header.head.chain) && number_at(fields, "winner", header.winner) &&
      number_at(fields, "acknowledged", acknowledged) &&
      number_at(fields, "entries", header.entries) &&
      number_at(fields, "left_out", header.left_out) && number_at(fields, "lines", lines);
  header.at = WallTime(WallTime::duration(at));
  header.acknowledged = acknowledged == 1;
  return good;
}

std::string change_line(const Entry& entry, const Change& change) {
  std::string line = fmt::format(R"({{"epoch":{},"revision":{},"chain":{},"type":{},"key":{})",
                                 entry.head.epoch, entry.head.revision, entry.head.chain,
                                 change.type == Change::Type::Put ? R"("put")" : R"("removed")",
                                 quoted_json(change.item.key));
  if (change.type == Change::Type::Put) {
    line += fmt::format(R"(,"created":{},"value":"{}")", change.item.created_revision,
                        hex_of(change.item.value));
  }
  if (change.item.expires) {
    line += fmt::format(R"(,"expires":{})", change.item.expires->time_since_epoch().count());
  }
  return line + "}\n";
}

bool read_change(const Fields& fields, Quarantine& quarantine) {
  store::Head head;
  Change change;
  const std::string type = text_at(fields, "type");
  change.type = type == "put" ? Change::Type::Put : Change::Type::Delete;
  change.item.key = text_at(fields, "key");
  bool good = (type == "put" || type == "removed") && !change.item.key.empty() &&
              number_at(fields, "epoch", head.epoch) &&
              number_at(fields, "revision", head.revision) &&
              number_at(fields, "chain", head.chain);
  change.item.revision = head.revision;
  if (good && type == "put") {
    good = number_at(fields, "created", change.item.created_revision) && fields.contains("value") &&
           read_hex(text_at(fields, "value"), change.item.value);
  }
  if (int64_t expires = 0; fields.contains("expires")) {
    good = good && number_at(fields, "expires", expires);
    change.item.expires = WallTime(WallTime::duration(expires));
  }
  if (!good) return false;
  if (quarantine.entries.empty() || quarantine.entries.back().head != head) {
    quarantine.entries.push_back({.head = head, .changes = {}});
  }
  quarantine.entries.back().changes.push_back(std::move(change));
  return true;
}

Status broken(size_t line) {
  return coded(absl::StatusCode::kDataLoss, "HF4116",
               fmt::format("line {} of the quarantine file is broken", line));
}

}  // namespace

std::string to_text(const Quarantine& quarantine, const QuarantineLimits& limits) {
  std::string body;
  uint64_t kept = 0;
  uint64_t count = 0;
  // Room for the header, whose numbers are known only after.
  const size_t room =
      limits.max_bytes -
      std::min(limits.max_bytes, header_line(quarantine.header, UINT32_MAX).size() + 32);
  for (const Entry& entry : quarantine.entries) {
    std::string lines;
    for (const Change& change : entry.changes) lines += change_line(entry, change);
    if (body.size() + lines.size() > room) break;
    body += lines;
    kept += 1;
    count += entry.changes.size();
  }
  QuarantineHeader header = quarantine.header;
  header.left_out += quarantine.entries.size() - kept;
  return header_line(header, count) + body;
}

Result<Quarantine> parse_quarantine(std::string_view text, const QuarantineLimits& limits) {
  Quarantine quarantine;
  uint64_t lines = 0;
  size_t line = 1;
  if (text.size() > limits.max_bytes) return broken(0);
  for (; !text.empty(); ++line) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos || end > limits.max_line_bytes) return broken(line);
    const std::optional<Fields> fields = read_object(text.substr(0, end));
    text.remove_prefix(end + 1);
    const bool good = fields && (line == 1 ? read_header(*fields, quarantine.header, lines)
                                           : read_change(*fields, quarantine));
    if (!good) return broken(line);
  }
  const bool whole =
      quarantine.header.entries == quarantine.header.left_out + quarantine.entries.size();
  if (quarantine.header.entries == 0 || !whole || lines + 2 != line) return broken(line);
  return quarantine;
}

Result<QuarantineHeader> parse_quarantine_header(std::string_view line) {
  QuarantineHeader header;
  uint64_t lines = 0;
  const std::optional<Fields> fields = read_object(line);
  if (!fields || !read_header(*fields, header, lines)) return broken(1);
  return header;
}

}  // namespace holdfast::ha
