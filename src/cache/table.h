// The resources of one kind by name: a persistent hash table. Changing it makes a new root that
// shares all but a path of nodes with the old one, so a snapshot costs nothing and never changes.
//
//   old root ──► ▢ ──► ▢ ──► agents …        put("edge-7") copies the nodes on its path only
//                ▲
//   new root ──► ▢' ─► ▢' ─► edge-7'
//
// One thread (the writer's) makes, copies, changes and destroys tables. Any thread may read a table
// that is kept alive for it (see published.h): a read touches no counter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "holdfast/v1/resource.pb.h"

namespace holdfast::cache {

using Shared = std::shared_ptr<const v1::Resource>;

class Table {
 public:
  Table();
  Table(const Table& other);  // shares everything
  Table(Table&& other) noexcept;
  Table& operator=(Table other) noexcept;
  ~Table();

  // Replaces what has the same metadata.name.
  void put(Shared resource);
  // Whether there was one.
  bool erase(std::string_view name);

  const v1::Resource* find(std::string_view name) const;
  size_t size() const;

  // In no particular order. Stops when `visit` returns false.
  template <typename Visit>
  void for_each(Visit&& visit) const;
};

}  // namespace holdfast::cache
