// Kind: a small index naming one kind of resource, and KindSet: any number of them in one word.
// Everything else about a kind is in the table of registry.h.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace holdfast::resource {

// In the order of the members of `body` in resource.proto. The value is an index in this process
// only: what is stored or sent is the name.
enum class Kind : uint8_t {
  Controller,
  Proxy,
  Agent,
  Service,
  Token,
  Role,
  User,
  NetworkingConfig,
  ZoneMap,
  CapacityLease,
  CertAuthority,
};

inline constexpr size_t kKindCount = 11;
static_assert(kKindCount <= 64, "KindSet keeps one bit for each kind");

class KindSet {
 public:
  constexpr KindSet() = default;
  constexpr KindSet(std::initializer_list<Kind> kinds) {
    for (const Kind kind : kinds) insert(kind);
  }

  static constexpr KindSet all() {
    KindSet set;
    set.bits_ = (uint64_t{1} << kKindCount) - 1;
    return set;
  }

  constexpr void insert(Kind kind) { bits_ |= bit(kind); }
  constexpr void erase(Kind kind) { bits_ &= ~bit(kind); }

  constexpr bool contains(Kind kind) const { return (bits_ & bit(kind)) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr size_t size() const { return static_cast<size_t>(std::popcount(bits_)); }
  constexpr uint64_t bits() const { return bits_; }

  // The members in the order of Kind.
  std::vector<Kind> kinds() const {
    std::vector<Kind> out;
    for (uint64_t rest = bits_; rest != 0; rest &= rest - 1) {
      out.push_back(static_cast<Kind>(std::countr_zero(rest)));
    }
    return out;
  }

  friend constexpr KindSet operator|(KindSet a, KindSet b) { return KindSet(a.bits_ | b.bits_); }
  friend constexpr KindSet operator&(KindSet a, KindSet b) { return KindSet(a.bits_ & b.bits_); }
  // What is in `a` and not in `b`.
  friend constexpr KindSet operator-(KindSet a, KindSet b) { return KindSet(a.bits_ & ~b.bits_); }
  friend constexpr bool operator==(KindSet, KindSet) = default;

 private:
  constexpr explicit KindSet(uint64_t bits) : bits_(bits) {}
  static constexpr uint64_t bit(Kind kind) { return uint64_t{1} << static_cast<uint8_t>(kind); }

  uint64_t bits_ = 0;
};

}  // namespace holdfast::resource
