#include "identity/audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

#include "base/bytes.h"
#include "identity/openssl.h"
#include "resource/text_escape.h"

namespace holdfast::identity {
namespace {

using std::string_view;

constexpr string_view kSeq = "{\"seq\":";
constexpr string_view kPrev = ",\"prev\":\"sha256:";
constexpr string_view kTime = "\",\"ts\":\"";
constexpr size_t kHashChars = 64;
constexpr uint64_t kMaxSeq = (uint64_t{1} << 53) - 1;  // what every reader of JSON can count to

// What precedes the first line.
std::string no_hash() {
  return std::string(kHashChars, '0');
}

std::string hash_of(string_view line) {
  return ssl::to_hex(ssl::sha256(line));
}

// The bytes that are not UTF-8 as text, all else as it is; cut before a character that does not
// fit.
std::string as_utf8(string_view bytes) {
  std::string out;
  const string_view kept = bytes.substr(0, kMaxAuditFieldBytes);
  string_view rest = kept;
  while (const auto wrong = first_invalid_utf8(rest)) {
    out += rest.substr(0, *wrong);
    rest.remove_prefix(*wrong);
    const bool is_cut = kept.size() < bytes.size() && rest.size() < 4;  // half a character
    if (is_cut) return out + "…";
    fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<uint8_t>(rest.front()));
    rest.remove_prefix(1);
  }
  out += rest;
  return kept.size() < bytes.size() ? out + "…" : out;
}

void append_text(std::string& out, string_view key, string_view value) {
  fmt::format_to(std::back_inserter(out), ",\"{}\":", key);
  resource::append_escaped(out, as_utf8(value));
}

struct Link {
  uint64_t seq = 0;
  string_view previous_hash;
};

// Control characters are always escaped in a line.
bool is_one_line(string_view text) {
  return std::ranges::none_of(text, [](char c) { return static_cast<uint8_t>(c) < 0x20; });
}

bool is_hex(string_view text) {
  return text.find_first_not_of("0123456789abcdef") == string_view::npos;
}

// How a line is tied to the one before; absent if it is not a line of an audit.
std::optional<Link> parse_link(string_view line) {
  if (line.size() > kMaxAuditLineBytes || !line.starts_with(kSeq) || !line.ends_with('}') ||
      !is_one_line(line)) {
    return std::nullopt;
  }
  line.remove_prefix(kSeq.size());
  Link link;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), link.seq);
  if (error != std::errc() || link.seq == 0 || link.seq > kMaxSeq || line.front() == '0')
    return std::nullopt;
  line.remove_prefix(static_cast<size_t>(end - line.data()));
  if (!line.starts_with(kPrev)) return std::nullopt;
  link.previous_hash = line.substr(kPrev.size(), kHashChars);
  line.remove_prefix(std::min(line.size(), kPrev.size() + kHashChars));
  if (!is_hex(link.previous_hash) || !line.starts_with(kTime)) return std::nullopt;
  return link;
}

Status damaged(uint64_t number, string_view why) {
  return absl::DataLossError(fmt::format("line {} of the audit {}", number, why));
}

}  // namespace

Result<AuditChain> AuditChain::resume(string_view last_line) {
  AuditChain chain;
  chain.previous_hash_ = no_hash();
  if (last_line.empty()) return chain;
  const auto link = parse_link(last_line);
  if (!link || link->seq == kMaxSeq)
    return absl::DataLossError("the last line is not one of an audit");
  chain.seq_ = link->seq;
  chain.previous_hash_ = hash_of(last_line);
  return chain;
}

std::string AuditChain::next_line(const AuditRecord& record, WallTime now) {
  seq_ += 1;
  std::string line =
      fmt::format("{}{}{}{}{}{}\"", kSeq, seq_, kPrev, previous_hash_, kTime, to_rfc3339(now));
  append_text(line, "actor", record.actor);
  append_text(line, "source", record.source);
  append_text(line, "verb", record.verb);
  if (!record.object.empty()) append_text(line, "object", record.object);
  line += record.allowed ? ",\"allowed\":true" : ",\"allowed\":false";
  if (!record.code.empty()) append_text(line, "code", record.code);
  if (record.repeated != 1) line += fmt::format(",\"repeated\":{}", record.repeated);
  line += '}';
  previous_hash_ = hash_of(line);
  return line + '\n';
}

Status verify_audit(string_view text) {
  uint64_t number = 0;
  uint64_t last_seq = 0;
  std::string hash;
  while (!text.empty()) {
    number += 1;
    const size_t end = text.find('\n');
    if (end == string_view::npos) return damaged(number, "does not end");
    const string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    const auto link = parse_link(line);
    if (!link) return damaged(number, "is not one of an audit");
    const bool is_first = number == 1;
    const bool is_very_first = link->seq == 1;
    if (is_very_first && link->previous_hash != no_hash()) {
      return damaged(number, "says that it is the first, and that there is one before");
    }
    if (!is_first && (link->seq != last_seq + 1 || link->previous_hash != hash)) {
      return damaged(number, "does not follow from the one before: one was changed or removed");
    }
    last_seq = link->seq;
    hash = hash_of(line);
  }
  return absl::OkStatus();
}

}  // namespace holdfast::identity
