// The proxies that `holdfast connect` may go through: as the controllers know them, and as the
// profile's folder remembers them for when no controller answers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "holdfast/v1/resource.pb.h"

namespace holdfast::cli {

inline constexpr size_t kMaxProxies = 1'024;

// HOST:PORT each, the best first.
using ProxyList = std::vector<std::string>;

// Those that clients can reach: online and with a public address; those that are being drained
// last.
ProxyList usable_proxies(const std::vector<v1::Resource>& proxies);

// One on each line. What is not an address is passed over: the file is only a memory.
ProxyList parse_proxies(std::string_view text);
std::string to_text(const ProxyList& proxies);

// This one worked.
void put_first(ProxyList& proxies, const std::string& address);

}  // namespace holdfast::cli
