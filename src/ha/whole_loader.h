// Whole stores of this half that were replaced by the other's history, beside the files of
// quarantine_loader.h: whatever does not fit into those is here.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "store/replica.h"

namespace holdfast::ha {

// Files kept of which nothing depends on them: what they have that the pair lost is in a file of
// quarantine_loader.h too. The oldest goes when another has taken its place on disk.
inline constexpr size_t kMaxWholeStores = 3;
// Files that have what is nowhere else. None of them goes by itself: with so many undecided, this
// half takes no copy that would need another (HF4119).
inline constexpr size_t kMaxNeededStores = 8;

// "20261116T101500-6-812-00000000deadbeef.sqlite": when, and where the history ended.
std::string whole_store_name(WallTime at, const store::Head& head);
// Their names, the oldest first; none if there is no folder.
std::vector<std::string> whole_stores(const std::string& folder);
// The one of the history that ended here, without the folder; empty if there is none.
std::string find_whole_store(const std::string& folder, const store::Head& head);
// Removes the oldest of more than kMaxWholeStores that are not `needed`, and says which.
std::vector<std::string> trim_whole_stores(const std::string& folder,
                                           const std::vector<std::string>& needed);
// What a crash left half made.
void remove_unfinished_stores(const std::string& folder);
void discard_whole_store(const std::string& folder, const store::Head& head);

}  // namespace holdfast::ha
