#include "cli/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace holdfast::cli {

Result<std::string> read_input(const std::string& file, size_t limit) {
  const bool standard_input = file == "-";
  const int descriptor = standard_input ? STDIN_FILENO : ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  const auto failed = [&] {
    return absl::InvalidArgumentError(fmt::format("{}: {}", file, std::strerror(errno)));
  };
  if (descriptor < 0) return failed();
  std::string text;
  std::array<char, 65536> buffer{};
  ssize_t count = 1;
  while (count > 0 && text.size() < limit) {
    count = ::read(descriptor, buffer.data(), buffer.size());
    if (count > 0) text.append(buffer.data(), static_cast<size_t>(count));
  }
  Result<std::string> result = count < 0 ? Result<std::string>(failed()) : std::move(text);
  if (!standard_input) ::close(descriptor);
  return result;
}

}  // namespace holdfast::cli
