// A controller that is spoken to for the first time, and a key that never leaves this machine.
#pragma once

#include <expected>
#include <memory>
#include <string>

#include "cli/client.h"
#include "cli/identity_commands.h"

namespace holdfast::cli {

// Recognises the controller, or each of several (or trusts the unix socket), and connects without a
// certificate of our own.
std::expected<std::unique_ptr<Client>, Failure> introduce(const Introduction& introduction);

struct KeyAndRequest {
  std::string private_key_pem;
  std::string request_pem;
};
Result<KeyAndRequest> make_key_and_request();

}  // namespace holdfast::cli
