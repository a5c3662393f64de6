// The first time a machine speaks to a cluster it trusts nobody: a pin tells the right controller
// from somebody in between.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cli/address.h"
#include "cli/errors.h"

namespace holdfast::cli {

struct Recognition {
  std::vector<std::string>
      pins{};             // "sha256:HEX", any of them; while an authority is replaced, two
  std::string ca_file{};  // or certificates that came another way
};

// What the server showed, checked: one of the chain's authorities has one of the pins, signed the
// leaf, and the leaf is a controller's. Returns that authority's certificate. HF5008 otherwise.
std::expected<std::string, Failure> recognise(const std::vector<std::string>& chain,
                                              const std::vector<std::string>& pins,
                                              const std::string& server, WallTime now);

// Connects, looks at the certificates without believing them, and recognises the controller.
// Returns whom to trust (PEM) for the real connection.
std::expected<std::string, Failure> first_contact(const Address& address,
                                                  const Recognition& recognition, Duration timeout);

}  // namespace holdfast::cli
