// Foreign bytes as a YAML stream of resources.
#include <cstddef>
#include <cstdint>

#include "round_trip.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  holdfast::fuzz::read_text(text, holdfast::resource::Format::Yaml);
  return 0;
}
