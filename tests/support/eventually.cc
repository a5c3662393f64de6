#include "support/eventually.h"

#include <thread>

namespace holdfast::test {

bool eventually(const std::function<bool()>& condition, Duration patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

void let_pass(Duration duration) {
  std::this_thread::sleep_for(duration);
}

}  // namespace holdfast::test
