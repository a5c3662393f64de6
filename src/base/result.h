// Status and Result<T>: how an expected failure travels. The codes are gRPC's codes and each means
// one thing (CONTRIBUTING.md, "Errors"). TRY passes a failure to the caller; CO_TRY does so in a
// coroutine.
//
//   TRY(Lease lease, table.find(id));
//   CO_TRY_OK(co_await store.erase(key));
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <string_view>

namespace holdfast {

using Status = absl::Status;
template <typename T>
using Result = absl::StatusOr<T>;

// The same failure, its message led by what was being done: "opening tunnel to edge-3: refused".
Status annotate(const Status& status, std::string_view doing);

}  // namespace holdfast

#define HF_CONCAT_INNER(a, b) a##b
#define HF_CONCAT(a, b) HF_CONCAT_INNER(a, b)

#define HF_TRY_IMPL(result, declaration, expression, return_keyword) \
  auto result = (expression);                                        \
  if (!result.ok()) return_keyword std::move(result).status();       \
  declaration = *std::move(result)

#define HF_TRY_OK_IMPL(status, expression, return_keyword) \
  do {                                                     \
    ::holdfast::Status status = (expression);              \
    if (!status.ok()) return_keyword status;               \
  } while (false)

#define TRY(declaration, expression) \
  HF_TRY_IMPL(HF_CONCAT(try_result_, __LINE__), declaration, expression, return)
#define CO_TRY(declaration, expression) \
  HF_TRY_IMPL(HF_CONCAT(try_result_, __LINE__), declaration, expression, co_return)
#define TRY_OK(expression) HF_TRY_OK_IMPL(HF_CONCAT(try_status_, __LINE__), expression, return)
#define CO_TRY_OK(expression) \
  HF_TRY_OK_IMPL(HF_CONCAT(try_status_, __LINE__), expression, co_return)
