#include "health/health.h"

#include <algorithm>
#include <utility>

#include "base/reason.h"

namespace holdfast::health {

std::string_view to_string(State state) {
  switch (state) {
    case State::Ok:
      return "ok";
    case State::Recovering:
      return "recovering";
    case State::Degraded:
      return "degraded";
    case State::Starting:
      break;
  }
  return "starting";
}

Component& Health::find(const std::string& name, Time now) {
  const auto [found, added] = components_.try_emplace(name, Component{.name = name, .since = now});
  if (added) version_ += 1;
  return found->second;
}

void Health::enter(Component& component, State state, Time now) {
  if (component.state == state) return;
  component.state = state;
  component.since = now;
  version_ += 1;
}

void Health::expect(const std::string& name, Time now) {
  find(name, now);
}

void Health::report_ok(const std::string& name, Time now) {
  Component& component = find(name, now);
  switch (component.state) {
    case State::Ok:
      return;
    case State::Degraded:
      return enter(component, State::Recovering, now);
    case State::Recovering:
      if (now - component.since <= options_.recovery_window) return;
      break;
    case State::Starting:
      break;
  }
  enter(component, State::Ok, now);
  component.code.clear();
  component.reason.clear();
}

void Health::report_error(const std::string& name, const Status& why, Time now) {
  Component& component = find(name, now);
  enter(component, State::Degraded, now);
  const Reason reason = split_reason(why);
  component.code = reason.code;
  component.reason = reason.message;
}

void Health::report_warning(const std::string& name, const Status& why, Time now) {
  Component& component = find(name, now);
  enter(component, State::Ok, now);
  const Reason reason = split_reason(why);
  component.code = reason.code;
  component.reason = reason.message;
}

void Health::forget(const std::string& name) {
  if (components_.erase(name) > 0) version_ += 1;
}

State Health::state() const {
  const auto any = [this](State wanted) {
    return std::ranges::any_of(components_,
                               [&](const auto& entry) { return entry.second.state == wanted; });
  };
  if (any(State::Degraded)) return State::Degraded;
  if (any(State::Recovering)) return State::Recovering;
  return components_.empty() || any(State::Starting) ? State::Starting : State::Ok;
}

std::vector<Component> Health::components() const {
  std::vector<Component> all;
  for (const auto& [name, component] : components_) all.push_back(component);
  return all;
}

}  // namespace holdfast::health
