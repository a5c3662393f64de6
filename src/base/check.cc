#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace holdfast {

void check_failed(const char* file, int line, std::string_view what) {
  std::fprintf(stderr, "%s:%d: bug: does not hold: %.*s\n", file, line,
               static_cast<int>(what.size()), what.data());
  std::abort();
}

}  // namespace holdfast
