#include "identity/token.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <span>

#include "base/reason.h"
#include "identity/openssl.h"
#include "identity/wire_time.h"
#include "resource/text_rules.h"

namespace holdfast::identity {
namespace {

using std::string_view;

constexpr string_view kTokenPrefix = "hf_";
constexpr string_view kAlphabet = "abcdefghijklmnopqrstuvwxyz234567";
constexpr size_t kIdBytes = 5;
constexpr size_t kIdChars = 8;
constexpr size_t kSecretChars = 24;
constexpr string_view kWhiteSpace = " \t\r\n";

// Base 32: eight characters for five bytes. Requires: a multiple of five bytes.
std::string base32(std::span<const uint8_t> bytes) {
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 5) {
    uint64_t group = 0;
    for (size_t j = 0; j < 5; ++j) group = group << 8 | bytes[i + j];
    for (int shift = 35; shift >= 0; shift -= 5) out += kAlphabet[group >> shift & 31];
  }
  return out;
}

bool is_base32(string_view text) {
  return text.find_first_not_of(kAlphabet) == string_view::npos;
}

// One sentence for all, so that it says nothing of which tokens there are.
Status not_valid() {
  return coded(absl::StatusCode::kUnauthenticated, "HF5005",
               "the join token is wrong or has been used");
}

bool same_hash(string_view kept, string_view shown) {
  return kept.size() == shown.size() && CRYPTO_memcmp(kept.data(), shown.data(), kept.size()) == 0;
}

// What the token fixes is taken; what the node then asks for must be that or nothing.
Result<std::string> settle(const std::string& fixed, const std::string& asked, string_view what) {
  if (fixed.empty() || asked.empty() || asked == fixed) return fixed.empty() ? asked : fixed;
  return coded(absl::StatusCode::kPermissionDenied, "HF5007",
               "the join token is for another " + std::string(what));
}

}  // namespace

TokenText make_token(const std::array<uint8_t, 20>& random) {
  const std::span<const uint8_t> bytes(random);
  TokenText token;
  token.id = base32(bytes.first(kIdBytes));
  token.text = std::string(kTokenPrefix) + token.id + "_" + base32(bytes.subspan(kIdBytes));
  return token;
}

Result<TokenText> parse_token(string_view text) {
  const size_t begin = text.find_first_not_of(kWhiteSpace);
  if (begin == string_view::npos) return not_valid();
  text = text.substr(begin, text.find_last_not_of(kWhiteSpace) - begin + 1);
  constexpr size_t kBytes = kTokenPrefix.size() + kIdChars + 1 + kSecretChars;
  if (text.size() != kBytes || !text.starts_with(kTokenPrefix)) return not_valid();
  const string_view id = text.substr(kTokenPrefix.size(), kIdChars);
  const string_view rest = text.substr(kTokenPrefix.size() + kIdChars);
  if (!is_base32(id) || rest.front() != '_' || !is_base32(rest.substr(1))) return not_valid();
  return TokenText{.id = std::string(id), .text = std::string(text)};
}

std::string hash_token(string_view text) {
  return ssl::sha256(text);
}

Result<JoinAs> check_token(const v1::Resource& token, const TokenText& shown, const JoinAs& asked,
                           WallTime now) {
  const v1::Token& kept = token.token();
  if (!same_hash(kept.hash(), hash_token(shown.text)) || kept.uses_left() == 0) return not_valid();
  if (token.metadata().has_expires() && from_wire(token.metadata().expires()) <= now) {
    return coded(absl::StatusCode::kUnauthenticated, "HF5006", "the join token has expired");
  }
  JoinAs as;
  TRY(as.name, settle(kept.node_name(), asked.name, "name"));
  TRY(as.zone, settle(kept.zone(), asked.zone, "zone"));
  if (const auto wrong = resource::wrong_name(as.name)) {
    return absl::InvalidArgumentError("the node's name " + *wrong);
  }
  if (const auto wrong = resource::wrong_name(as.zone); wrong && !as.zone.empty()) {
    return absl::InvalidArgumentError("the node's zone " + *wrong);
  }
  return as;
}

}  // namespace holdfast::identity
