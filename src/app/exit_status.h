// Exit statuses of the daemon's roles, beside 0.
#pragma once

#include <iostream>

#include "base/result.h"

namespace holdfast::app {

inline constexpr int kExitFailed = 1;
inline constexpr int kExitBadConfig = 78;  // EX_CONFIG: systemd does not start it again

// Prints why the role ends, and returns its exit status.
inline int exit_with(const Status& status, int code) {
  std::cerr << "holdfastd: " << status.message() << "\n";
  return code;
}

}  // namespace holdfast::app
