// Runs fuzz targets over their corpora as ordinary tests, without libFuzzer: NAME FILE or FOLDER...
// The build includes this file behind all targets, with the table of them (hf_fuzz_replay).
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

namespace {

using FuzzTarget = int (*)(const uint8_t* data, size_t size);

void replay(FuzzTarget target, const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
  target(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

size_t replay_all(FuzzTarget target, const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) {
    replay(target, path);
    return 1;
  }
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    replay(target, entry.path());
    count += 1;
  }
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, FuzzTarget> targets = {HF_FUZZ_TARGETS};
  const auto target = targets.find(argc > 1 ? argv[1] : "");
  if (target == targets.end()) {
    std::fprintf(stderr, "usage: fuzz_replay TARGET FILE|FOLDER...\n");
    return 64;
  }
  size_t count = 0;
  for (int i = 2; i < argc; ++i) count += replay_all(target->second, argv[i]);
  std::printf("%zu inputs replayed\n", count);
  return count > 0 ? 0 : 1;  // an empty corpus shows nothing
}
