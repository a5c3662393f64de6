// The folder of what a half wrote and the pair did not keep: one file for each time, until an
// operator decides.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ha/quarantine.h"

namespace holdfast::ha {

// Files kept; the oldest of what was never acknowledged goes first, and nothing else goes: nor does
// a file that lacks changes, which names the whole store that has them.
inline constexpr size_t kMaxQuarantineFiles = 64;

// The file's name, "20261116T101500-4.jsonl". On disk when it returns. `text` as of to_text().
Result<std::string> save_quarantine(const std::string& folder, const QuarantineHeader& header,
                                    std::string_view text);
// Their names, the oldest first; none if there is no folder.
std::vector<std::string> quarantine_files(const std::string& folder);
// kNotFound HF4131: there is none of this name. kDataLoss HF4116: it is damaged.
Result<Quarantine> load_quarantine(const std::string& folder, const std::string& name);
Result<QuarantineHeader> load_quarantine_header(const std::string& folder, const std::string& name);
// The whole stores (whole_loader.h) that have changes which the file of an undecided divergence
// lacks. All of them while a file cannot be read: nobody knows which it needs.
std::vector<std::string> needed_whole_stores(const std::string& folder);
// The revocations in it were done again; discarded with it.
Status set_gone_through(const std::string& folder, const std::string& name);
bool is_gone_through(const std::string& folder, const std::string& name);
Status discard_quarantine(const std::string& folder, const std::string& name);

}  // namespace holdfast::ha
