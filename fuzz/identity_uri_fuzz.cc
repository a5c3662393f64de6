// Foreign text as an identity's URI: what parses is written back as it was.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "identity/identity.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto identity = holdfast::identity::parse_uri(text);
  if (!identity.ok()) return 0;
  HF_CHECK(holdfast::identity::check_identity(*identity).ok(), "what parses is valid");
  HF_CHECK(holdfast::identity::to_uri(*identity) == text, "a URI reads back as it was written");
  return 0;
}
