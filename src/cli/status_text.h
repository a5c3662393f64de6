// A controller's status on one screen.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "cli/console.h"
#include "holdfast/v1/node.pb.h"

namespace holdfast::cli {

std::string_view to_word(v1::HealthState state);    // "ok"
std::string_view to_word(v1::RotationPhase phase);  // "dual"; "none" for none and unknown ones
bool is_rotating(v1::RotationPhase phase);
Verdict verdict_of(v1::HealthState state);

std::string render_status(const v1::GetStatusResponse& status, const Console& console);
// With what is zero spelt out: "state": "ok", "offline": 0.
std::string status_json(const v1::GetStatusResponse& status);
std::string status_yaml(const v1::GetStatusResponse& status);

}  // namespace holdfast::cli
