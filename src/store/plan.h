// What a commit changes, decided before anything is written: preconditions first, then the
// changes. Shared by the stores that apply commits themselves (memory, SQLite).
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "store/store.h"

namespace holdfast::store {

// What a store knows of a key that is present.
struct KeyState {
  Revision revision = 0;
  Revision created_revision = 0;
};
using KeyLookup = std::function<Result<std::optional<KeyState>>(const std::string& key)>;

// The changes `operations` make at `revision`, in their order; empty if they change nothing. Fails
// with the first precondition that does not hold, naming the key, or with the lookup's failure.
Result<std::vector<Change>> plan(std::vector<Operation> operations, Revision revision,
                                 const KeyLookup& lookup);

}  // namespace holdfast::store
