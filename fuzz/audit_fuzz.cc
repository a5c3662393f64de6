// Foreign bytes as an audit's text, as its last line, and as what a caller is called.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/check.h"
#include "identity/audit.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace holdfast;
  using namespace holdfast::identity;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const bool is_whole = verify_audit(text).ok();
  HF_CHECK(!is_whole || text.empty() || text.ends_with('\n'), "a whole audit ends its last line");
  const AuditRecord any{.actor = text, .source = text, .verb = text, .object = text, .code = text};
  auto chain = AuditChain::resume("").value();
  std::string made = chain.next_line(any, WallTime()) + chain.next_line(any, WallTime());
  HF_CHECK(!first_invalid_utf8(made) && verify_audit(made).ok(), "any name makes a good line");
  if (auto resumed = AuditChain::resume(text); resumed.ok() && !text.empty()) {
    const std::string both = text + "\n" + resumed->next_line(any, WallTime());
    // The line itself may claim to be the first with one before it; then both are refused.
    HF_CHECK(verify_audit(both).ok() == verify_audit(text + "\n").ok(), "what is resumed goes on");
  }
  return 0;
}
