// The resources of one kind by name: a persistent hash table. Changing it makes a new root that
// shares all but a path of nodes with the old one, so a snapshot costs nothing and never changes.
//
//   old root ──► ▢ ──► ▢ ──► agents …        put("edge-7") copies the nodes on its path only,
//                ▲                           and none that no other table shares
//   new root ──► ▢' ─► ▢' ─► edge-7'
//
// One thread (the writer's) makes, copies, changes and destroys tables. Any thread may read a table
// that is kept alive for it (see published.h): a read touches no counter.
#pragma once

#include <absl/functional/function_ref.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "holdfast/v1/resource.pb.h"

namespace holdfast::cache {

using Shared = std::shared_ptr<const v1::Resource>;

struct TableItem;
struct TableLeaf;

class Table {
 public:
  // The same for the same name in every run: what is derived from the order of a table can be
  // reproduced.
  using Hash = size_t (*)(std::string_view name);
  static size_t default_hash(std::string_view name);

  Table() : Table(default_hash) {}
  explicit Table(Hash hash) : hash_(hash) {}
  Table(const Table& other);  // shares everything
  Table(Table&& other) noexcept;
  Table& operator=(Table other) noexcept;
  // Frees at once what no other table shares; dismantle() first if that may be much.
  ~Table();

  // Replaces what has the same metadata.name. Requires: not null.
  void put(Shared resource);
  // Whether there was one.
  bool erase(std::string_view name);
  // Lets go of at most `budget` items, nodes of the trie included, and takes what it used from
  // `budget`; true once nothing is left. Any thread that reads this table must be gone.
  bool dismantle(size_t& budget);

  // Null if there is none. Valid while this table, or one that shares it, lives unchanged.
  const v1::Resource* find(std::string_view name) const;
  // The same, to keep; null if there is none. Counts, so not for a hot path on many threads.
  Shared share(std::string_view name) const;
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // In an order that depends on the names alone. Stops when `visit` returns false.
  void for_each(absl::FunctionRef<bool(const Shared&)> visit) const;

 private:
  const TableLeaf* leaf(std::string_view name) const;

  TableItem* root_ = nullptr;
  size_t size_ = 0;
  Hash hash_;
};

}  // namespace holdfast::cache
