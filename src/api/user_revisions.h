// How new what is known of each user is. A user that was just read and the changes that are
// followed come in any order; what is older must not undo what is newer, a deletion above all.
// Remembers every user there is, and the last so many that were deleted. Core.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "store/store.h"

namespace holdfast::api {

class UserRevisions {
 public:
  explicit UserRevisions(size_t max_deleted = 1'024) : max_deleted_(max_deleted) {}

  // Whether the change is news; it is then the newest known. Deletions come in order.
  bool advance(const std::string& name, store::Revision revision, bool deleted);
  // All is known anew.
  void clear();
  size_t size() const { return revisions_.size(); }

 private:
  size_t max_deleted_;
  std::map<std::string, store::Revision> revisions_;           // of the last change
  std::set<std::pair<store::Revision, std::string>> deleted_;  // oldest first
  // Whoever is not among `revisions_` had no change after this one: deletions were followed so far.
  store::Revision forgotten_ = 0;
};

}  // namespace holdfast::api
