#include "store/plan.h"

#include <fmt/format.h>

#include "base/bytes.h"

namespace holdfast::store {
namespace {

Status check(const Operation& operation, const std::optional<KeyState>& state) {
  const auto key = [&] { return in_quotes(operation.key, 256); };
  switch (operation.precondition) {
    case Precondition::None:
      return absl::OkStatus();
    case Precondition::Absent:
      if (!state) return absl::OkStatus();
      return absl::AlreadyExistsError(fmt::format("key {} already exists", key()));
    case Precondition::Present:
      if (state) return absl::OkStatus();
      return absl::NotFoundError(fmt::format("key {} does not exist", key()));
    case Precondition::Revision:
      if (!state) return absl::NotFoundError(fmt::format("key {} does not exist", key()));
      if (state->revision == operation.revision) return absl::OkStatus();
      return absl::AbortedError(fmt::format("key {} is at revision {}, not {}: read it again",
                                            key(), state->revision, operation.revision));
  }
  return absl::InternalError("a precondition outside its enum");
}

}  // namespace

Result<std::vector<Change>> plan(std::vector<Operation> operations, Revision revision,
                                 const KeyLookup& lookup) {
  std::vector<Change> changes;
  changes.reserve(operations.size());
  for (Operation& operation : operations) {
    TRY(const std::optional<KeyState> state, lookup(operation.key));
    TRY_OK(check(operation, state));
    Change change;
    change.item.key = std::move(operation.key);
    change.item.revision = revision;
    switch (operation.type) {
      case Operation::Type::Check:
        continue;
      case Operation::Type::Delete:
        if (!state) continue;
        change.type = Change::Type::Delete;
        break;
      case Operation::Type::Put:
        change.item.value = std::move(operation.value);
        change.item.created_revision = state ? state->created_revision : revision;
        change.item.expires = operation.expires;
        break;
    }
    changes.push_back(std::move(change));
  }
  return changes;
}

}  // namespace holdfast::store
