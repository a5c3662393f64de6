#include "base/result.h"

#include <fmt/format.h>

namespace holdfast {

Status annotate(const Status& status, std::string_view doing) {
  if (status.ok()) return status;
  return Status(status.code(),
                fmt::format("{}: {}", doing,
                            std::string_view(status.message().data(), status.message().size())));
}

}  // namespace holdfast
