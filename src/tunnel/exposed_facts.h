// From what an agent says it exposes to what routing needs.
#pragma once

#include <cstddef>
#include <string>

#include "holdfast/v1/tunnel.pb.h"
#include "route/routes.h"

namespace holdfast::tunnel {

// What is beyond these is left out: an agent cannot fill a proxy with names.
inline constexpr size_t kMaxExposedServices = 256;
inline constexpr size_t kMaxExposedLabels = 64;
inline constexpr size_t kMaxExposedText = 256;      // bytes of a name, a label or its value
inline constexpr size_t kMaxExposedBytes = 32'000;  // of all of them: fits into one message

struct CertifiedAgent {
  std::string name{};
  std::string zone{};
};
// Both come from the certificate, or from a peer that has seen it.
route::AgentFacts facts_of(const CertifiedAgent& identity, const v1::Exposed& exposed);
// As peers are told.
v1::HeldAgent to_held(const route::AgentFacts& facts);

}  // namespace holdfast::tunnel
