// Small files that nobody else may read: keys, certificates, tokens.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace holdfast {

inline constexpr size_t kMaxPrivateFileBytes = size_t{1} << 20;

// For the owner only (0600), whole or not at all: written beside its place, synced, then renamed.
// The message names the path.
Status write_private_file(const std::string& path, std::string_view text);
// The same for what must still be there after a crash: an error also if its folder may have
// forgotten it by then. The file is in its place meanwhile.
Status write_lasting_file(const std::string& path, std::string_view text);
// Folders remember a new name only once they are synced themselves.
Status sync_folder_of(const std::string& path);
// Makes the folder and those above it as needed, for the owner only (0700).
Status make_private_folder(const std::string& path);

// Whether its group or everybody may do anything with it. False if it is not there.
bool is_open_to_others(const std::string& path);

// "-" is standard input. kNotFound if there is no such file; kInvalidArgument if it cannot be read
// or is larger than the limit.
Result<std::string> read_small_file(const std::string& path);
// The same for larger files: read into its place at once, at most `max_bytes`.
Result<std::string> read_file(const std::string& path, size_t max_bytes);

}  // namespace holdfast
