// Waiting for what another process does: asked again and again until it is so, with a deadline. The
// one place in the tests that sleeps.
#pragma once

#include <functional>

#include "base/clock.h"

namespace holdfast::test {

// True as soon as `condition` is; false if it is not within `patience`.
bool eventually(const std::function<bool()>& condition, Duration patience);

// Lets real time pass, for what only time does (a lease that runs out).
void let_pass(Duration duration);

}  // namespace holdfast::test
