// Which certificates a TLS server shows, unverified: for a first contact, which then compares pins.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "cli/address.h"

namespace holdfast::cli {

// The chain in PEM, the leaf first. kUnavailable if nobody is there or it speaks no TLS;
// kDeadlineExceeded after `timeout`, whatever the server does. Nothing is sent but the handshake.
Result<std::vector<std::string>> peek_chain(const Address& address, Duration timeout);

}  // namespace holdfast::cli
