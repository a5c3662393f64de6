#include "cli/proxy_list.h"

#include <algorithm>

#include "resource/text_rules.h"

namespace holdfast::cli {

ProxyList usable_proxies(const std::vector<v1::Resource>& proxies) {
  ProxyList usable;
  for (const bool draining : {false, true}) {
    for (const v1::Resource& each : proxies) {
      const v1::Proxy& proxy = each.proxy();
      const bool online = !proxy.announcement().has_offline_since();
      if (!online || proxy.draining() != draining || proxy.public_address().empty()) continue;
      if (usable.size() < kMaxProxies) usable.push_back(proxy.public_address());
    }
  }
  return usable;
}

ProxyList parse_proxies(std::string_view text) {
  ProxyList proxies;
  while (!text.empty() && proxies.size() < kMaxProxies) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string line(text.substr(0, end));
    if (!resource::wrong_address(line)) proxies.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return proxies;
}

std::string to_text(const ProxyList& proxies) {
  std::string text;
  for (const std::string& each : proxies) text += each + "\n";
  return text;
}

void put_first(ProxyList& proxies, const std::string& address) {
  const auto found = std::ranges::find(proxies, address);
  if (found != proxies.end()) std::rotate(proxies.begin(), found, found + 1);
}

}  // namespace holdfast::cli
