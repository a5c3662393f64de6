// Mistakes around the cores of the simulated pair, each of which some seed must find
// (pair_bugs_test.cc). None is a flag of a core: they change what it is told, or what becomes of
// what it says.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace holdfast::ha::sim {

enum class Bug : uint8_t {
  None,
  LeaseTooLong,         // three times what the other half keeps to, and it says so
  EchoWhileClaiming,    // who takes over still says what it has heard
  EchoToTheReplaced,    // who took over, and was restarted, says what it has heard of the former
  ClockStops,           // while the process does
  ReadsUnacknowledged,  // a read shows what only the own disk has
  AckedAlone,           // a write is acknowledged by the own disk
  AckedBeforeDurable,   // the passive half answers before its disk has it
  CopyTakenLate,        // a copy replaces entries that came after it was sent
  WitnessForgets,       // it comes back without its record
  QuarantineForgotten,  // a copy replaces a diverged history that nobody kept
  NeedlessCopies,       // whoever comes back is sent everything
  FailureIgnored,       // what a disk could not keep is acknowledged
  ChainUnchecked,       // a damaged entry is taken
  AppliedTwice,         // a write that is sent again is another write
  FenceForgets,         // an agent that is restarted has seen no epoch
};
inline constexpr std::array<std::string_view, 16> kBugNames = {
    "None",           "LeaseTooLong",        "EchoWhileClaiming",   "EchoToTheReplaced",
    "ClockStops",     "ReadsUnacknowledged", "AckedAlone",          "AckedBeforeDurable",
    "CopyTakenLate",  "WitnessForgets",      "QuarantineForgotten", "NeedlessCopies",
    "FailureIgnored", "ChainUnchecked",      "AppliedTwice",        "FenceForgets"};
constexpr std::string_view to_string(Bug bug) {
  return kBugNames.at(static_cast<size_t>(bug));
}

}  // namespace holdfast::ha::sim
