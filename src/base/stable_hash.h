// A 64-bit hash that is the same on every machine and in every version: for what is stored or sent,
// to tell two contents apart. Eight bytes a step. Not for secrets, nor against who looks for
// collisions.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace holdfast {

class StableHash {
 public:
  explicit StableHash(uint64_t seed) : state_(seed ^ 0x6a09e667f3bcc908) {}

  StableHash& add(uint64_t number) {
    // Each step can be undone, so that what was added before is never lost.
    state_ = (state_ ^ number) * 0x9fb21c651e98df25;
    state_ ^= state_ >> 32;
    return *this;
  }

  // The length goes first: "ab", "c" and "a", "bc" differ.
  StableHash& add(std::string_view bytes) {
    add(uint64_t{bytes.size()});
    while (!bytes.empty()) {
      const size_t count = bytes.size() < 8 ? bytes.size() : 8;
      add(little_endian(bytes.substr(0, count)));
      bytes.remove_prefix(count);
    }
    return *this;
  }

  uint64_t value() const {
    uint64_t mixed = (state_ ^ (state_ >> 29)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 32)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 29);
  }

 private:
  static uint64_t little_endian(std::string_view bytes) {
    static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "else swap the bytes here");
    uint64_t word = 0;
    std::memcpy(&word, bytes.data(), bytes.size());
    return word;
  }

  uint64_t state_;
};

}  // namespace holdfast
