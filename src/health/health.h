// How a process is: the states of its components and what follows from them.
//
//                ok              error (from anywhere)
//   starting ────────► ok ───────────────► degraded ──── ok ───► recovering
//                      ▲                                             │ ok, and the recovery
//                      └─────────────────────────────────────────────┘ window has passed
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace holdfast::health {

// Values are a public metric and never change.
enum class State { Ok = 0, Recovering = 1, Degraded = 2, Starting = 3 };
std::string_view to_string(State state);  // "ok"

struct Component {
  std::string name;
  State state = State::Starting;
  Time since{};
  std::string code{};    // HFnnnn while degraded or recovering, or of a warning
  std::string reason{};  // for people
};

struct HealthOptions {
  Duration recovery_window = std::chrono::seconds(10);
};

class Health {
 public:
  explicit Health(HealthOptions options) : options_(options) {}

  // A component that must report before the process is ok.
  void expect(const std::string& name, Time now);
  // Something was really done: a skipped attempt reports nothing.
  void report_ok(const std::string& name, Time now);
  // `why` carries its code as base/reason.h says.
  void report_error(const std::string& name, const Status& why, Time now);
  // Something an operator should see and clients need not: the component stays, or becomes, ok.
  void report_warning(const std::string& name, const Status& why, Time now);
  // A component that is no more.
  void forget(const std::string& name);

  // Degraded if any is; else recovering if any is; ok only if all are and there is one.
  State state() const;
  std::vector<Component> components() const;  // by name
  // Changes whenever state() or any component's state does.
  uint64_t version() const { return version_; }

 private:
  Component& find(const std::string& name, Time now);
  void enter(Component& component, State state, Time now);

  HealthOptions options_;
  std::map<std::string, Component> components_;
  uint64_t version_ = 0;
};

}  // namespace holdfast::health
