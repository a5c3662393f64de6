// Where a table and its copies keep their nodes: close together, in blocks that grow with them. A
// lookup visits a few nodes anywhere in a table; were they scattered among the resources, each
// visit would also wait for the processor to translate an address it has not seen lately.
//
// Belongs to the writer, as the tables do. What is freed is used again, and given back to the
// system only when the last table of the family goes: a new generation starts a new family.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace holdfast::cache {

class TableMemory {
 public:
  TableMemory() = default;
  ~TableMemory();
  TableMemory(const TableMemory&) = delete;
  TableMemory& operator=(const TableMemory&) = delete;

  void* allocate(size_t bytes);
  // Requires: the same number of bytes as it was allocated with.
  void free(void* space, size_t bytes);

 private:
  static constexpr size_t kGrain = 16;
  // Beyond it, which only the longest names and hundreds of equal hashes reach, each piece is
  // allocated alone.
  static constexpr size_t kLargestPiece = 1088;
  struct Free {
    Free* next;
  };

  void add_block();

  std::array<Free*, kLargestPiece / kGrain + 1> free_{};  // by size, in grains
  std::vector<void*> blocks_;
  size_t block_bytes_ = 0;  // of the newest block
  char* unused_ = nullptr;  // in the newest block
  size_t unused_bytes_ = 0;
  size_t in_use_ = 0;
};

}  // namespace holdfast::cache
