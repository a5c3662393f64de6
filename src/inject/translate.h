// The translation of a pod: its network probes and HTTP hooks become requests to the one port of
// the probe handler, and the handler, as a sidecar, gets the list of what to ask in their stead.
// The received document is edited, never rebuilt: what this file does not name stays as it is.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "inject/warning.h"

namespace holdfast::inject {

inline constexpr const char* kDefaultImage = "holdfast/holdfastd:latest";

struct InjectOptions {
  uint16_t port = 9000;               // of the handler; a pod's annotation wins, 0 disables
  bool enabled = true;                // what a pod gets that has no annotation about it
  std::string image = kDefaultImage;  // of the sidecar
  std::string sidecar = "holdfast-sidecar";
};

// HF7110, naming the option, if one of them cannot be.
Status check_options(const InjectOptions& options);

struct Translation {
  boost::json::value document;    // translated
  boost::json::array patch;       // RFC 6902, minimal; empty: nothing to do
  std::vector<Warning> warnings;  // of each kind all; condensed() before they are shown
};

// document: a Pod, a workload with a pod template, or a List of such; anything else comes back as
// it is. kInvalidArgument with HF71xx: a real conflict, or a document that is no Kubernetes object;
// kResourceExhausted with HF7106: what was there before fits no annotation.
Result<Translation> translate(const boost::json::value& document, const InjectOptions& options);

// Takes away what translate() did: undo(translate(x)) is x.
Result<Translation> undo(const boost::json::value& document, const InjectOptions& options);

}  // namespace holdfast::inject
