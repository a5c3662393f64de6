#include "api/page_token.h"

#include <fmt/format.h>

#include <charconv>

namespace holdfast::api {

std::string to_text(const PageToken& token) {
  return fmt::format("{}:{}", token.revision, token.last_name);
}

std::optional<PageToken> parse_page_token(std::string_view text) {
  PageToken token;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, token.revision);
  if (error != std::errc() || rest == end || *rest != ':' || token.revision < 0) {
    return std::nullopt;
  }
  token.last_name.assign(rest + 1, end);
  if (token.last_name.empty() || token.last_name.find('\0') != std::string::npos) {
    return std::nullopt;
  }
  if (to_text(token) != text) return std::nullopt;  // "007:web", "-0:web"
  return token;
}

}  // namespace holdfast::api
