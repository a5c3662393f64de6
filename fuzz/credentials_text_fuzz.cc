// Foreign text as a join token, and as a stored password: what parses is what we would have
// written.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "identity/password.h"
#include "identity/token.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace holdfast::identity;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto token = parse_token(text); token.ok()) {
    HF_CHECK(text.contains(token->text), "a token is part of what was read");
    HF_CHECK(token->text.starts_with("hf_" + token->id + "_"), "a token begins with its id");
    HF_CHECK(parse_token(token->text)->text == token->text, "a token reads back");
  }
  if (const auto stored = parse_stored_password(text)) {
    HF_CHECK(to_text(*stored) == text, "a stored password reads back as it was written");
    HF_CHECK(stored->salt.size() == 16 && stored->hash.size() == 32, "salt and hash are whole");
  }
  return 0;
}
