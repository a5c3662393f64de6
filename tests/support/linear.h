// Whether a history of calls on registers is linearizable: whether each call can be given one
// moment between its beginning and its end so that, in the order of these moments, every answer is
// right. The search of Wing and Gong with Lowe's memory of where it has been, on each key by
// itself.
//
//   const Verdict verdict = check_history(calls);
//   EXPECT_TRUE(verdict.holds()) << verdict.explanation;
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"

namespace holdfast::test {

enum class Act : uint8_t {
  Read,
  Write,          // whatever was there
  Remove,         // also what is not there
  CompareAndSet,  // writes if `expected` is there; empty: if nothing is
};

enum class Ending : uint8_t {
  Ok,
  Failed,   // certainly without effect, and says nothing of what was there
  Refused,  // of a CompareAndSet: something other than `expected` was there
  Unknown,  // may have had its effect, or may have it at any time after it was called
};

struct RegisterCall {
  std::string client{};
  std::string key{};
  Act act = Act::Read;
  std::string value{};     // read: what was found, empty for nothing; else what is written
  std::string expected{};  // of a CompareAndSet
  Ending ending = Ending::Ok;
  Time called{};
  Time returned{};  // says nothing if the ending is unknown
};

struct HistoryLimits {
  uint64_t steps = 20'000'000;  // per key; about a minute
};

struct Verdict {
  enum class Kind : uint8_t { Linearizable, Broken, Undecided };
  Kind kind = Kind::Linearizable;
  std::string key{};          // the first that is broken, or undecided
  std::string explanation{};  // of a broken one: the shortest window that cannot be, in words
  bool holds() const { return kind == Kind::Linearizable; }
};

// Every key begins as nothing. It is quick if what is written to a key is different each time.
Verdict check_history(const std::vector<RegisterCall>& calls, const HistoryLimits& limits = {});

// "w3 writes k1 = 17 from 1.204 s to 1.209 s: ok", times counted from `zero`.
std::string to_string(const RegisterCall& call, Time zero);

}  // namespace holdfast::test
