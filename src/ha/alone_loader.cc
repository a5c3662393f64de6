#include "ha/alone_loader.h"

#include <fmt/format.h>

#include <charconv>

#include "base/private_file.h"

namespace holdfast::ha {

Epoch load_alone(const std::string& path) {
  const Result<std::string> text = read_small_file(path);
  Epoch epoch = 0;
  if (!text.ok() || !text->ends_with('\n')) return kAloneUnknown;
  const char* end = text->data() + text->size() - 1;
  const auto [rest, error] = std::from_chars(text->data(), end, epoch);
  return error == std::errc() && rest == end ? epoch : kAloneUnknown;
}

Status save_alone(const std::string& path, Epoch epoch) {
  return write_private_file(path, fmt::format("{}\n", epoch));
}

}  // namespace holdfast::ha
