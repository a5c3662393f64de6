// Join tokens: "hf_ID_SECRET". The token resource is named ID and keeps SHA-256 of the whole text.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "holdfast/v1/resource.pb.h"

namespace holdfast::identity {

struct TokenText {
  std::string id;
  std::string text;  // all of it: the secret
};

// From 20 random bytes: 5 for the id, the rest for the secret.
TokenText make_token(const std::array<uint8_t, 20>& random);
// kUnauthenticated HF5005 if it does not look like one; white space around it is ignored.
Result<TokenText> parse_token(std::string_view text);
std::string hash_token(std::string_view text);  // 32 bytes

struct JoinAs {
  std::string name;
  std::string zone;
};

// Whether a node may join with this token, and as whom. kUnauthenticated HF5005 (wrong secret, or
// used up), HF5006 (expired); kPermissionDenied HF5007 (not for this zone or name);
// kInvalidArgument if the name or zone is not one. The secret is compared in constant time, and
// before anything else.
Result<JoinAs> check_token(const v1::Resource& token, const TokenText& shown, const JoinAs& asked,
                           WallTime now);

}  // namespace holdfast::identity
