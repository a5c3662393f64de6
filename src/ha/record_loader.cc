#include "ha/record_loader.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/private_file.h"
#include "base/reason.h"
#include "base/stable_hash.h"

namespace holdfast::ha {
namespace {

using std::string_view;

constexpr string_view kForm = "holdfast-witness-1";
constexpr size_t kFields = 6;
constexpr size_t kMaxIdBytes = 64;

Status damaged(string_view why) {
  return coded(absl::StatusCode::kDataLoss, "HF4204",
               fmt::format("the witness's record is damaged: {}", why));
}

std::vector<string_view> split(string_view text) {
  std::vector<string_view> parts;
  for (;;) {
    const size_t space = text.find(' ');
    parts.push_back(text.substr(0, space));
    if (space == string_view::npos) return parts;
    text.remove_prefix(space + 1);
  }
}

bool parse(string_view text, uint64_t& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

std::string checksum(string_view body) {
  return fmt::format("{:016x}", StableHash(0).add(body).value());
}

std::string word(const std::string& id) {
  return id.empty() ? "-" : id;
}

}  // namespace

std::string record_line(const Record& record) {
  const std::string body =
      fmt::format("{} {} {} {} {}", kForm, record.epoch, record.in_sync.bits(),
                  word(record.store_id(Member::Primary)), word(record.store_id(Member::Backup)));
  return fmt::format("{} {}\n", body, checksum(body));
}

Result<Record> parse_record(string_view line) {
  if (line.size() > kMaxRecordBytes || !line.ends_with('\n')) return damaged("its end is missing");
  line.remove_suffix(1);
  const std::vector<string_view> fields = split(line);
  if (fields.size() != kFields || fields[0] != kForm) return damaged("it is of another form");
  const string_view body = line.substr(0, line.rfind(' '));
  if (fields[5] != checksum(body)) return damaged("its checksum is wrong");
  Record record;
  uint64_t bits = 0;
  if (!parse(fields[1], record.epoch) || !parse(fields[2], bits) || bits > 3) {
    return damaged("a number is wrong");
  }
  record.in_sync = Members::from_bits(static_cast<uint8_t>(bits));
  if (fields[3].size() > kMaxIdBytes || fields[4].size() > kMaxIdBytes) {
    return damaged("an id is too long");
  }
  if (fields[3] != "-") record.store_id(Member::Primary) = std::string(fields[3]);
  if (fields[4] != "-") record.store_id(Member::Backup) = std::string(fields[4]);
  return record;
}

Status check_record(const Record& record) {
  const Result<Record> again = parse_record(record_line(record));
  if (again.ok() && *again == record) return absl::OkStatus();
  return coded(absl::StatusCode::kInvalidArgument, "HF4203",
               "an id in the record is too long, or no word");
}

Result<Record> load_record(const std::string& path) {
  const Result<std::string> line = read_small_file(path);
  if (absl::IsNotFound(line.status())) return Record();
  TRY_OK(line.status());
  Result<Record> record = parse_record(*line);
  if (record.ok()) return record;
  return coded(absl::StatusCode::kDataLoss, "HF4204",
               fmt::format("{}: {}", in_quotes(path, 256), split_reason(record.status()).message));
}

Result<Record> settle_record(const std::string& path) {
  TRY(Record record, load_record(path));
  if (record.epoch != 0) TRY_OK(sync_folder_of(path));
  return record;
}

Status save_record(const std::string& path, const Record& record) {
  return write_lasting_file(path, record_line(record));
}

}  // namespace holdfast::ha
