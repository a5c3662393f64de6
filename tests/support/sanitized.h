// What a sanitizer costs: tests that measure time or memory allow that many times more under one.
#pragma once

namespace holdfast::test {

#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
inline constexpr int kSanitizerCost = 20;
#else
inline constexpr int kSanitizerCost = 1;
#endif
#else
inline constexpr int kSanitizerCost = 1;
#endif

inline constexpr bool kSanitized = kSanitizerCost > 1;

}  // namespace holdfast::test
