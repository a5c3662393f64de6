// What an agent may say that it exposes, and what of it routing needs. An agent checks before it
// says it, a proxy when it is said, and a peer when it is passed on: by the same numbers, so that
// nothing is ever left out in silence.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"
#include "holdfast/v1/tunnel.pb.h"
#include "route/routes.h"

namespace holdfast::tunnel {

// An agent cannot fill a proxy with names. All that it may say fits into one message to a peer.
inline constexpr size_t kMaxExposedServices = 1'024;
inline constexpr size_t kMaxExposedLabels = 64;
inline constexpr size_t kMaxExposedText = 256;      // bytes of a label or its value
inline constexpr size_t kMaxExposedReason = 1'024;  // bytes of why a service is not healthy
inline constexpr size_t kMaxExposedBytes = 48'000;  // of all names and labels
// Of the reasons that a proxy keeps and passes on: each, and all of an agent; further ones are cut.
inline constexpr size_t kMaxKeptReason = 200;
inline constexpr size_t kMaxKeptReasons = 2'048;

// kResourceExhausted HF2109: more than that, or a name longer than names are.
Status check_exposed(const v1::Exposed& exposed);

struct CertifiedAgent {
  std::string name{};
  std::string zone{};
};
// Both come from the certificate, or from a peer that has seen it. Requires: it was checked.
route::AgentFacts facts_of(const CertifiedAgent& identity, const v1::Exposed& exposed);
// As peers are told.
v1::HeldAgent to_held(const route::AgentFacts& facts);

}  // namespace holdfast::tunnel
