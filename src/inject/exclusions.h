// A list of ports that are not redirected, as the annotation has it: "9000,9800", also "1-1023".
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace holdfast::inject {

// Nothing but digits, 1 to 65535.
std::optional<uint16_t> read_port(std::string_view text);
// The first part between commas that is neither a port nor a range of ports; blanks around it do
// not count. Nothing if there is none, or the list is empty.
std::optional<std::string> wrong_part(std::string_view list);

// The ports that the list lacks, in their order, then the list as it was; the list itself if it
// lacks none.
std::string with_ports(std::string_view list, std::span<const uint16_t> ports);
// The list without these ports, where they stand alone.
std::string without_ports(std::string_view list, std::span<const uint16_t> ports);

}  // namespace holdfast::inject
