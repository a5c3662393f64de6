// The first words on a tunnel, as the side that was dialled judges them: is it who it says, and is
// what it says within limits. Also the answers.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "holdfast/v1/tunnel.pb.h"
#include "identity/identity.h"

namespace holdfast::tunnel {

struct GreetingRules {
  identity::Role role = identity::Role::Agent;  // who may dial here
  std::string cluster{};
};

// Of advice, and of the end of a tunnel: the agent's certificate is too old.
inline constexpr std::string_view kCertificateExpired = "HF2118";

// Before anything is read from it. kPermissionDenied HF2101.
Status check_caller(const identity::Identity& who, const GreetingRules& rules);
// The first message. kInvalidArgument HF2108 if it is no hello; kPermissionDenied HF2102 if its
// name is not the certificate's; kResourceExhausted HF2109 as for check_exposed()
// (exposed_facts.h).
Result<v1::TunnelHello> read_hello(std::string_view payload, const identity::Identity& who);

// The bytes of a refusal. `retry_after` of zero says nothing of it.
std::string refusal(const Status& why, Duration retry_after);
std::string advice(std::string_view code, std::string_view reason, Duration closes_in);

// Why the other side did not want us: kUnavailable, its code first.
Status read_refusal(const v1::TunnelRefusal& refusal);

}  // namespace holdfast::tunnel
