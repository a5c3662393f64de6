#include "config/file_loader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/reason.h"

namespace holdfast::config {
namespace {

Status unreadable(const std::string& path, const char* why) {
  return coded(absl::StatusCode::kInvalidArgument, "HF6001",
               fmt::format("{} cannot be read: {}", path, why));
}

// One byte more than a configuration may have is enough to refuse it.
Result<std::string> read_open_file(int descriptor, const std::string& path) {
  std::string out(kMaxFileBytes + 1, '\0');
  size_t size = 0;
  while (size < out.size()) {
    const ssize_t count = ::read(descriptor, out.data() + size, out.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return unreadable(path, std::strerror(errno));
    if (count == 0) break;
    size += static_cast<size_t>(count);
  }
  if (size > kMaxFileBytes) {
    return coded(absl::StatusCode::kInvalidArgument, "HF6003",
                 fmt::format("{} is larger than {}; is it a configuration?", path,
                             bytes_text(kMaxFileBytes)));
  }
  out.resize(size);
  return out;
}

Result<std::string> read_file(const std::string& path) {
  // A pipe must not hold the start up: it is opened without waiting, then refused.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return unreadable(path, std::strerror(errno));
  struct stat about{};
  Result<std::string> text = unreadable(path, "not a regular file");
  if (::fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode)) {
    text = read_open_file(descriptor, path);
  }
  ::close(descriptor);
  return text;
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "";
  return name.data();
}

std::map<std::string, std::string> environment() {
  std::map<std::string, std::string> out;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (!text.starts_with("HOLDFAST_") || equals == std::string_view::npos) continue;
    out.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return out;
}

}  // namespace

Result<Sources> gather(Gathering gathering) {
  Sources out;
  const bool named = !gathering.file.empty();
  out.file_path = named ? std::move(gathering.file) : std::string(kDefaultFile);
  if (named || ::access(out.file_path.c_str(), F_OK) == 0) {
    TRY(out.file_text, read_file(out.file_path));
  }
  out.environment = environment();
  out.flags = std::move(gathering.flags);
  out.machine = {{"controller.name", host_name()},
                 {"controller.data_dir", gathering.default_data_dir},
                 {"node.data_dir", std::move(gathering.default_data_dir)}};
  out.role = gathering.role;
  out.pair_times = std::move(gathering.pair_times);
  return out;
}

}  // namespace holdfast::config
