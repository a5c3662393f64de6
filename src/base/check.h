// HF_CHECK: an invariant that, when broken, is a bug of ours. On in every build; aborts.
// Expected failures (peers, disks, input) return a Status instead: see base/result.h.
#pragma once

#include <string_view>

namespace holdfast {

[[noreturn]] void check_failed(const char* file, int line, std::string_view what);

}  // namespace holdfast

// A macro because only a macro knows the caller's file and line in every build.
#define HF_CHECK(condition, what)                           \
  do {                                                      \
    if (!(condition)) [[unlikely]]                          \
      ::holdfast::check_failed(__FILE__, __LINE__, (what)); \
  } while (false)
