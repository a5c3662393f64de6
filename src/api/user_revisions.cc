#include "api/user_revisions.h"

#include <algorithm>

namespace holdfast::api {

bool UserRevisions::advance(const std::string& name, store::Revision revision, bool deleted) {
  const auto found = revisions_.find(name);
  const store::Revision known = found == revisions_.end() ? forgotten_ : found->second;
  if (revision <= known) return false;
  deleted_.erase({known, name});
  revisions_[name] = revision;
  if (!deleted) return true;
  deleted_.emplace(revision, name);
  if (deleted_.size() <= max_deleted_) return true;
  const auto oldest = deleted_.begin();
  forgotten_ = std::max(forgotten_, oldest->first);
  revisions_.erase(oldest->second);
  deleted_.erase(oldest);
  return true;
}

void UserRevisions::clear() {
  revisions_.clear();
  deleted_.clear();
  forgotten_ = 0;
}

}  // namespace holdfast::api
