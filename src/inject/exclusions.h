// A list of ports that are not redirected, as the annotation has it: "9000,9800", also "1-1023".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace holdfast::inject {

// The ports that the list lacks, in their order, then the list as it was; the list itself if it
// lacks none.
std::string with_ports(std::string_view list, std::span<const uint16_t> ports);
// The list without these ports, where they stand alone.
std::string without_ports(std::string_view list, std::span<const uint16_t> ports);

}  // namespace holdfast::inject
