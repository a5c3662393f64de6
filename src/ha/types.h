// The words of the pair: two controllers, one active.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "store/replica.h"

namespace holdfast::ha {

using store::Epoch;
using store::Head;

// Which half a controller was configured as.
enum class Member : uint8_t { Primary, Backup };
constexpr Member other(Member member) {
  return member == Member::Primary ? Member::Backup : Member::Primary;
}
std::string_view to_string(Member member);  // "primary"

// What it is now. The first two: it has not yet heard what its peer is. Numbers as on the wire.
enum class State : uint8_t { Primary = 1, Backup = 2, Active = 3, Passive = 4 };
std::string_view to_string(State state);  // "PRIMARY"
constexpr State initial_state(Member member) {
  return member == Member::Primary ? State::Primary : State::Backup;
}

enum class Mode : uint8_t {
  BestEffort,  // acknowledged when it is on the active's disk
  Sync,        // on both disks; who is alone does not write
  Witness,     // on the disks of all that are in sync, by a record that a third party keeps
};
std::string_view to_string(Mode mode);  // "best-effort"

// Some of the two.
class Members {
 public:
  constexpr Members() = default;
  static constexpr Members of(Member member) { return Members(bit(member)); }
  static constexpr Members both() { return Members(3); }
  static constexpr Members from_bits(uint8_t bits) { return Members(bits & 3); }
  constexpr bool has(Member member) const { return (bits_ & bit(member)) != 0; }
  constexpr uint8_t bits() const { return bits_; }
  constexpr bool operator==(const Members&) const = default;

 private:
  constexpr explicit Members(uint8_t bits) : bits_(bits) {}
  static constexpr uint8_t bit(Member member) {
    return static_cast<uint8_t>(1U << static_cast<unsigned>(member));
  }
  uint8_t bits_ = 0;
};

// The primary's epochs are odd and the backup's even: whatever happens, no two controllers are
// active in one epoch. The lowest of `member`'s above `after`.
constexpr Epoch next_epoch(Epoch after, Member member) {
  const bool odd = member == Member::Primary;
  const Epoch next = after + 1;
  return (next % 2 == 1) == odd ? next : next + 1;
}
constexpr Member active_in(Epoch epoch) {
  return epoch % 2 == 1 ? Member::Primary : Member::Backup;
}

// The record a witness keeps. Everything that was ever acknowledged is in the store of each member
// that it names as in sync. Who is active follows from the epoch.
struct Record {
  Epoch epoch = 0;  // 0: there is none yet
  Members in_sync{};
  std::array<std::string, 2> store_ids{};  // by member; another id is another, perhaps empty, disk
  Member active() const { return active_in(epoch); }
  const std::string& store_id(Member member) const {
    return store_ids[static_cast<size_t>(member)];
  }
  std::string& store_id(Member member) { return store_ids[static_cast<size_t>(member)]; }
  bool operator==(const Record&) const = default;
};

}  // namespace holdfast::ha
