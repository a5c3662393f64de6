// Foreign text as a page token: what parses is exactly what was given out for its meaning.
#include <cstddef>
#include <cstdint>

#include "api/page_token.h"
#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto token = holdfast::api::parse_page_token(text);
  if (!token) return 0;
  HF_CHECK(token->revision >= 0 && !token->last_name.empty(), "a token names a place");
  HF_CHECK(holdfast::api::to_text(*token) == text, "a token reads back as it was written");
  return 0;
}
