// Stable reason codes, HFnnnn: what operators search for. A Status carries its code as the
// beginning of its message, so that it crosses gRPC and HTTP as it is.
#pragma once

#include <string_view>

#include "base/result.h"

namespace holdfast {

// "HF5003: the certificate has expired"
Status coded(absl::StatusCode status, std::string_view code, std::string_view message);

struct Reason {
  std::string_view code;  // empty if the message has none
  std::string_view message;
};
// Views into `message`, or into the status's.
Reason split_reason(std::string_view message);
Reason split_reason(const Status& status);

}  // namespace holdfast
