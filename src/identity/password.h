// Passwords under scrypt, a memory-hard function: "$scrypt$ln=15,r=8,p=1$SALT$HASH", both in base64
// without padding.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace holdfast::identity {

struct ScryptCost {
  int log2_n = 15;  // 32 MiB with r = 8
  int r = 8;
  int p = 1;
};

// What is kept of a password.
struct StoredPassword {
  ScryptCost cost{};
  std::string salt{};
  std::string hash{};
};
std::string to_text(const StoredPassword& stored);
// Absent unless to_text() made it, and checking it takes at most 64 MiB.
std::optional<StoredPassword> parse_stored_password(std::string_view text);

// kInvalidArgument if it is shorter than 8 bytes or longer than 1024.
Status check_password(std::string_view password);
// Takes tens of milliseconds and 32 MiB: not on the loop.
Result<std::string> hash_password(std::string_view password, const std::array<uint8_t, 16>& salt,
                                  ScryptCost cost = {});
// False for a wrong password and for a stored text that is not one of ours or costs too much.
// Takes as long for a user who does not exist: then `stored` is empty and the answer is false.
bool verify_password(std::string_view password, std::string_view stored);

}  // namespace holdfast::identity
