// What an API server asks of an admission webhook, and the answer: bytes of an AdmissionReview (v1
// or v1beta1) in, bytes out, in the version that was asked in. Pure; webhook_server.h speaks HTTP.
//
//   CREATE of a pod ──► translate() ──┬─ a patch          allowed, patched
//   anything else ─► allowed as it is ├─ an empty patch   allowed as it is
//                                     ├─ kInvalidArgument denied with 400: a real conflict
//                                     └─ another failure  allowed as it is, with a warning
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "inject/translate.h"

namespace holdfast::inject {

using Translate =
    std::function<Result<Translation>(const boost::json::value&, const InjectOptions&)>;

// A pod or namespace with this label and the value below is left alone.
inline constexpr std::string_view kInjectLabel = "holdfast.dev/inject";
inline constexpr std::string_view kInjectDisabled = "disabled";
inline constexpr std::string_view kInjectEnabled = "enabled";

struct ReviewOptions {
  InjectOptions inject{};
  // Pods of these are left alone, should the API server ask about them all the same.
  std::vector<std::string> skipped_namespaces{};
};

// What API servers show to clients: more, or longer, would be dropped or cut by them.
inline constexpr size_t kMaxWarnings = 16;
inline constexpr size_t kMaxWarningBytes = 256;
inline constexpr size_t kMaxReviewDepth = 128;

enum class Verdict { Patched, Unchanged, Ignored, Denied, Malformed };
std::string_view to_string(Verdict verdict);  // "patched"

struct Reviewed {
  Verdict verdict = Verdict::Malformed;
  std::string body{};     // the answer, JSON
  std::string pod{};      // "shop/web-7d4b9", or "shop/web-*" of one that has no name yet
  std::string reason{};   // one line: why it was ignored, denied or malformed
  size_t operations = 0;  // of the patch
  size_t warnings = 0;    // in the answer
  bool dry_run = false;
};

Reviewed review(std::string_view bytes, const ReviewOptions& options, const Translate& translate);
// The answer to what is no review at all: not allowed, 400, and why.
Reviewed refuse(std::string_view why);

// "2s", "1m0.5s", "300ms": as the API server writes it into its query. `otherwise` for anything
// else, and for what is not positive; never more than `most`.
Duration review_timeout(std::string_view text, Duration otherwise, Duration most);
// Whether this Content-Type says JSON.
bool is_json(std::string_view content_type);

}  // namespace holdfast::inject
