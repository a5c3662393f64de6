// An operator's text for a listener: what is read is written the same.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "ingress/listener_spec.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace holdfast;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<ingress::ListenerSpec> spec = ingress::parse_listener_spec(text);
  if (!spec.ok()) return 0;
  HF_CHECK(ingress::to_string(*spec) == text, "it reads as it is written");
  HF_CHECK(!spec->services.empty(), "it serves something");
  for (const ingress::ServedPort& each : spec->services) {
    HF_CHECK(ingress::find_served(*spec, each.service, "") != nullptr, "each is found by its name");
  }
  return 0;
}
