// The folder of what a half wrote and the pair did not keep: one file for each time, until an
// operator decides.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "ha/quarantine.h"

namespace holdfast::ha {

// Files kept; the oldest of what was never acknowledged goes first, and nothing else goes.
inline constexpr size_t kMaxQuarantineFiles = 64;

// The file's name, "20261116T101500-4.jsonl". On disk when it returns.
Result<std::string> save_quarantine(const std::string& folder, const Quarantine& quarantine);
// Their names, the oldest first; none if there is no folder.
std::vector<std::string> quarantine_files(const std::string& folder);
// kNotFound HF4131: there is none of this name. kDataLoss HF4116: it is damaged.
Result<Quarantine> load_quarantine(const std::string& folder, const std::string& name);
// The revocations in it were done again; discarded with it.
Status set_gone_through(const std::string& folder, const std::string& name);
bool is_gone_through(const std::string& folder, const std::string& name);
Status discard_quarantine(const std::string& folder, const std::string& name);

}  // namespace holdfast::ha
