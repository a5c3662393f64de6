#include "cache/table_memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <utility>
#include <vector>

#include "base/rng.h"

namespace holdfast::cache {
namespace {

TEST(TableMemory, PiecesNeverOverlap) {
  struct Piece {
    unsigned char* bytes;
    size_t size;
    unsigned char mark;
  };
  Rng rng(1);
  TableMemory memory;
  std::vector<Piece> pieces;
  const auto free_one = [&](size_t at) {
    std::swap(pieces[at], pieces.back());
    const Piece& piece = pieces.back();
    for (size_t i = 0; i < piece.size; ++i) ASSERT_EQ(piece.bytes[i], piece.mark);
    memory.free(piece.bytes, piece.size);
    pieces.pop_back();
  };

  for (int step = 0; step < 10'000; ++step) {
    if (rng.below(5) < 3 || pieces.empty()) {
      const size_t size = 1 + rng.below(rng.below(50) == 0 ? 5'000 : 700);
      const auto mark = static_cast<unsigned char>(step);
      auto* bytes = static_cast<unsigned char*>(memory.allocate(size));
      EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes) % 16, 0u);
      std::memset(bytes, mark, size);
      pieces.push_back({bytes, size, mark});
    } else {
      free_one(rng.below(pieces.size()));
    }
  }
  while (!pieces.empty()) free_one(0);
}

TEST(TableMemory, WhatIsFreedIsUsedAgain) {
  TableMemory memory;
  void* first = memory.allocate(90);
  memory.free(first, 90);

  void* second = memory.allocate(96);

  EXPECT_EQ(second, first) << "both take six grains";
  memory.free(second, 96);
}

TEST(TableMemoryDeathTest, ATableThatIsLeftBehindIsABug) {
  EXPECT_DEATH(
      {
        TableMemory memory;
        memory.allocate(16);
      },
      "tables go before their memory");
}

}  // namespace
}  // namespace holdfast::cache
