#include "process_usage.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "support/eventually.h"

namespace holdfast::bench {

double cpu_seconds(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  const std::string text(std::istreambuf_iterator<char>(file), {});
  // After the name, which ends with the last parenthesis: utime and stime are the 12th and 13th.
  std::istringstream fields(text.substr(text.rfind(')') + 1));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user = 0;
  double system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

double memory_mib(pid_t pid) {
  std::ifstream statm(fmt::format("/proc/{}/statm", pid));
  double size = 0;
  double resident = 0;
  statm >> size >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1 << 20);
}

PeakMemory::PeakMemory(pid_t pid) : pid_(pid), peak_(memory_mib(pid)) {
  sampler_ = std::jthread([this] {
    while (!ending_) {
      peak_ = std::max(peak_.load(), memory_mib(pid_));
      test::let_pass(std::chrono::milliseconds(2));
    }
  });
}

PeakMemory::~PeakMemory() {
  ending_ = true;
}

}  // namespace holdfast::bench
