#include "base/stable_hash.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace holdfast {
namespace {

uint64_t hash_of(std::string_view bytes) {
  return StableHash(0).add(bytes).value();
}

TEST(StableHash, IsTheSameInEveryVersion) {
  EXPECT_EQ(hash_of(""), 1672986969160967816u);
  EXPECT_EQ(hash_of("abc"), 8047002092543258733u);
  EXPECT_EQ(StableHash(7).add(uint64_t{41}).add("sixteen bytes, 16").value(), 5839344275181218725u);
}

TEST(StableHash, KnowsWhereOneFieldEnds) {
  EXPECT_NE(StableHash(0).add("ab").add("c").value(), StableHash(0).add("a").add("bc").value());
  EXPECT_NE(hash_of("a"), hash_of(std::string_view("a\0", 2)));
  EXPECT_NE(StableHash(0).value(), StableHash(0).add("").value());
}

TEST(StableHash, DependsOnTheSeedAndTheOrder) {
  EXPECT_NE(StableHash(1).add("a").value(), StableHash(2).add("a").value());
  EXPECT_NE(StableHash(0).add("a").add("b").value(), StableHash(0).add("b").add("a").value());
}

TEST(StableHash, EveryBitOfALongTextCounts) {
  std::string text(100, 'x');
  std::set<uint64_t> seen = {hash_of(text)};
  for (size_t i = 0; i < text.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string other = text;
      other[i] = static_cast<char>(other[i] ^ (1 << bit));
      seen.insert(hash_of(other));
    }
  }

  EXPECT_EQ(seen.size(), 801u);
}

}  // namespace
}  // namespace holdfast
