#include "cache/table_memory.h"

#include <algorithm>
#include <cstdlib>
#include <new>

// The header comes with the sanitizers' runtime, which a machine that only builds does not have.
#if __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

#include "base/check.h"

namespace holdfast::cache {
namespace {

constexpr size_t kFirstBlock = 512;
// Huge pages are not asked for: to make one the system moves pages that readers look at, and they
// wait meanwhile.
constexpr size_t kLargestBlock = size_t{256} << 10;

size_t round_up(size_t bytes, size_t grain) {
  return (bytes + grain - 1) / grain * grain;
}

}  // namespace

TableMemory::~TableMemory() {
  HF_CHECK(in_use_ == 0, "tables go before their memory");
  for (void* block : blocks_) std::free(block);
}

void* TableMemory::allocate(size_t bytes) {
  in_use_ += 1;
  const size_t size = round_up(bytes, kGrain);
  if (size > kLargestPiece) return ::operator new(size);
  if (Free*& first = free_[size / kGrain]; first != nullptr) {
    ASAN_UNPOISON_MEMORY_REGION(first, size);
    Free* const piece = first;
    first = piece->next;
    return piece;
  }
  if (unused_bytes_ < size) add_block();
  void* const piece = unused_;
  ASAN_UNPOISON_MEMORY_REGION(piece, size);
  unused_ += size;
  unused_bytes_ -= size;
  return piece;
}

void TableMemory::free(void* space, size_t bytes) {
  in_use_ -= 1;
  const size_t size = round_up(bytes, kGrain);
  if (size > kLargestPiece) return ::operator delete(space);
  Free*& first = free_[size / kGrain];
  first = new (space) Free{first};
  ASAN_POISON_MEMORY_REGION(space, size);
}

// What is left of the block before it is too small for anybody, and forgotten.
void TableMemory::add_block() {
  block_bytes_ = std::clamp(block_bytes_ * 2, std::max(kFirstBlock, kLargestPiece), kLargestBlock);
  void* block = std::malloc(block_bytes_);
  HF_CHECK(block != nullptr, "there is memory");
  ASAN_POISON_MEMORY_REGION(block, block_bytes_);
  blocks_.push_back(block);
  unused_ = static_cast<char*>(block);
  unused_bytes_ = block_bytes_;
}

}  // namespace holdfast::cache
