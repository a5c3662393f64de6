// Ports on 127.0.0.1 that nobody listens on now, for programs that cannot take port 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace holdfast::test {

// All different. Another process may take one before it is used, which is rare: they are none of
// those that the kernel gives to whoever asks for any.
std::vector<uint16_t> free_ports(size_t count);

}  // namespace holdfast::test
