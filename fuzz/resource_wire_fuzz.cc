// Foreign bytes as an encoded resource, as the store and the API receive it.
#include <cstddef>
#include <cstdint>

#include "round_trip.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  holdfast::v1::Resource resource;
  if (!resource.ParseFromArray(data, static_cast<int>(size))) return 0;
  // A newer version's fields have no text form.
  resource.DiscardUnknownFields();
  holdfast::fuzz::round_trip(resource);
  return 0;
}
