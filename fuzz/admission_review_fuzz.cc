// What comes to the injector's webhook: the bytes of an AdmissionReview, with the real translation.
// Whatever they are, the answer is one that an API server can read, and a patch is for this pod: it
// applies, and there is nothing left to patch then.
#include <absl/strings/escaping.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "inject/review.h"
#include "inject/source_node.h"
#include "inject/translate.h"

namespace {

namespace json = boost::json;
using holdfast::inject::Reviewed;
using holdfast::inject::Verdict;

json::value patch_of(const json::object& response) {
  const json::value* patch = response.if_contains("patch");
  HF_CHECK((patch != nullptr) == response.contains("patchType"), "both or neither");
  if (patch == nullptr) return nullptr;
  std::string bytes;
  const json::string& text = patch->as_string();
  HF_CHECK(absl::Base64Unescape(absl::string_view(text.data(), text.size()), &bytes), "base64");
  json::error_code error;
  json::value operations = json::parse(bytes, error);
  HF_CHECK(!error && operations.is_array(), "a patch is a list");
  HF_CHECK(!operations.get_array().empty(), "an empty patch is not sent");
  return operations;
}

void check(const Reviewed& reviewed) {
  json::error_code error;
  const json::value answer = json::parse(reviewed.body, error);
  HF_CHECK(!error, "the answer is JSON");
  HF_CHECK(answer.at("kind") == "AdmissionReview", "of the right kind");
  const json::object& response = answer.at("response").as_object();
  HF_CHECK(response.at("uid").is_string(), "with a uid");
  const bool allowed = response.at("allowed").as_bool();
  const bool refused =
      reviewed.verdict == Verdict::Denied || reviewed.verdict == Verdict::Malformed;
  HF_CHECK(allowed != refused, "allowed unless it is refused");
  HF_CHECK(patch_of(response).is_array() == (reviewed.verdict == Verdict::Patched), "patched");
  if (!allowed) HF_CHECK(response.at("status").at("code") == 400, "refused with a code");
  const json::value* warnings = response.if_contains("warnings");
  if (warnings == nullptr) return;
  HF_CHECK(warnings->as_array().size() <= holdfast::inject::kMaxWarnings, "few warnings");
  for (const json::value& one : warnings->get_array()) {
    HF_CHECK(one.as_string().size() <= holdfast::inject::kMaxWarningBytes, "short warnings");
  }
}

// What the API server asks after another webhook changed something else.
void check_second(std::string_view bytes, const Reviewed& first,
                  const holdfast::inject::ReviewOptions& options) {
  if (first.verdict != Verdict::Patched) return;
  const json::value patch = patch_of(json::parse(first.body).at("response").as_object());
  json::value question = json::parse(json::string_view(bytes.data(), bytes.size()));
  json::value& pod = question.at("request").at("object");
  holdfast::inject::SourceNode tree = holdfast::inject::to_source(pod);
  HF_CHECK(holdfast::inject::apply_patch(tree, patch.as_array()), "a patch applies");
  pod = holdfast::inject::to_value(tree);
  const Reviewed second =
      holdfast::inject::review(json::serialize(question), options, holdfast::inject::translate);
  HF_CHECK(second.verdict == Verdict::Unchanged, "a second review changes nothing");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const holdfast::inject::ReviewOptions options{.inject = {},
                                                .skipped_namespaces = {"kube-system"}};
  const Reviewed reviewed = holdfast::inject::review(bytes, options, holdfast::inject::translate);
  check(reviewed);
  check_second(bytes, reviewed, options);
  constexpr holdfast::Duration kMost = std::chrono::seconds(30);
  const holdfast::Duration granted = holdfast::inject::review_timeout(bytes, kMost, kMost);
  HF_CHECK(granted > holdfast::Duration::zero() && granted <= kMost, "a time that can be kept");
  static_cast<void>(holdfast::inject::is_json(bytes));
  return 0;
}
