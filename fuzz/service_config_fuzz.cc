// Foreign bytes as the JSON of a service config.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "config/service_config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto reading = holdfast::config::parse_service_config(text);
  if (!reading.errors.empty()) return 0;
  const std::string printed = holdfast::config::service_config_json(reading.config);
  const auto again = holdfast::config::parse_service_config(printed);
  HF_CHECK(again.errors.empty(), "what is printed can be read");
  HF_CHECK(holdfast::config::service_config_json(again.config) == printed, "and is the same");
  return 0;
}
