// One change of a kernel map, as bytes: what the model decides and the pins carry out.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::track {

// As the maps are named in the kernel and in the folder of pins.
enum class MapName { Services, Plans, Slots, Health, Counters, Failures, Reserved };

struct MapWrite {
  MapName map = MapName::Services;
  std::string key{};
  std::optional<std::string> value{};  // nothing: the key is removed
  bool only_if_absent = false;         // what the kernel counts is never overwritten
  bool operator==(const MapWrite&) const = default;
};

template <typename T>
std::string to_bytes(const T& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(T));
}

// Requires: as many bytes as the type has.
template <typename T>
T from_bytes(std::string_view bytes) {
  T value{};
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

}  // namespace holdfast::track
