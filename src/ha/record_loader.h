// The witness's record as a file: one line of less than 200 bytes, with a checksum. It is replaced
// whole: written beside its place, synced, renamed.
#pragma once

#include <string>

#include "base/result.h"
#include "ha/types.h"

namespace holdfast::ha {

inline constexpr size_t kMaxRecordBytes = 200;

// The line, with its end. Requires: check_record().
std::string record_line(const Record& record);
// kDataLoss HF4204 for anything that record_line() does not make.
Result<Record> parse_record(std::string_view line);

// kInvalidArgument HF4203: it could not be read again. Ids are words of at most 64 bytes.
Status check_record(const Record& record);

// Epoch 0 if there is no file yet. kDataLoss HF4204: it is damaged, and is left as it is.
Result<Record> load_record(const std::string& path);
// The same where save_record() failed or was cut short: what it finds is there to stay.
Result<Record> settle_record(const std::string& path);
// On disk when it returns. After an error the file may be the old or the new one, but whole.
Status save_record(const std::string& path, const Record& record);

}  // namespace holdfast::ha
