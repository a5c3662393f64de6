// Where a listing goes on: the revision its first page was read at and the last name it showed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "store/store.h"

namespace holdfast::api {

struct PageToken {
  store::Revision revision = 0;
  std::string last_name;
  bool operator==(const PageToken&) const = default;
};

std::string to_text(const PageToken& token);
// Absent if `text` is not one that to_text() made.
std::optional<PageToken> parse_page_token(std::string_view text);

}  // namespace holdfast::api
