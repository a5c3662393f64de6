#include "inject/review.h"

#include <absl/strings/ascii.h>
#include <absl/strings/escaping.h>
#include <absl/strings/match.h>
#include <fmt/format.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "base/bytes.h"
#include "base/reason.h"

namespace holdfast::inject {
namespace {

namespace json = boost::json;
using std::string_view;

constexpr string_view kGroup = "admission.k8s.io/";
constexpr string_view kVersions[] = {"admission.k8s.io/v1", "admission.k8s.io/v1beta1"};
constexpr int kBadRequest = 400;
constexpr size_t kMaxMessageBytes = 1024;
constexpr size_t kMaxReviewNameBytes = 128;

string_view view_of(const json::string& text) {
  return {text.data(), text.size()};
}

json::string_view json_view(string_view text) {
  return {text.data(), text.size()};
}

// Null unless it is there and an object.
const json::object* object_in(const json::object& parent, string_view key) {
  const json::value* found = parent.if_contains(json_view(key));
  return found != nullptr ? found->if_object() : nullptr;
}

// Empty unless it is there and a text.
string_view text_in(const json::object* parent, string_view key) {
  const json::value* found = parent != nullptr ? parent->if_contains(json_view(key)) : nullptr;
  return found != nullptr && found->is_string() ? view_of(found->get_string()) : string_view();
}

// One line that a terminal and a header take, cut between characters.
std::string one_line(string_view text, size_t max_bytes) {
  std::string out = printable(text);
  std::ranges::replace(out, '\n', ' ');
  if (out.size() <= max_bytes) return out;
  out.resize(max_bytes - 3);
  if (const auto broken = first_invalid_utf8(out)) out.resize(*broken);
  return out + "...";
}

// The question, as far as it was understood.
struct Asked {
  string_view version = kVersions[0];
  string_view uid{};
  const json::object* request = nullptr;
  const json::value* pod = nullptr;
};

Status malformed(string_view why) {
  return coded(absl::StatusCode::kInvalidArgument, "HF7150", why);
}

Status read_question(const json::value& document, Asked& asked) {
  const json::object* review = document.if_object();
  if (review == nullptr) return malformed("the request is not an AdmissionReview");
  const string_view version = text_in(review, "apiVersion");
  const auto known = std::ranges::find(kVersions, version);
  if (known == std::end(kVersions) || text_in(review, "kind") != "AdmissionReview") {
    return malformed(fmt::format("the request is not an AdmissionReview of {}v1 or v1beta1: {} {}",
                                 kGroup, in_quotes(version), in_quotes(text_in(review, "kind"))));
  }
  asked.version = *known;
  asked.request = object_in(*review, "request");
  if (asked.request == nullptr) return malformed("the AdmissionReview has no request");
  asked.uid = text_in(asked.request, "uid");
  if (asked.uid.empty()) return malformed("the request has no uid");
  return absl::OkStatus();
}

std::string name_of(const Asked& asked) {
  if (asked.request == nullptr) return {};
  const json::object* pod = object_in(*asked.request, "object");
  const json::object* metadata = pod != nullptr ? object_in(*pod, "metadata") : nullptr;
  string_view space = text_in(metadata, "namespace");
  if (space.empty()) space = text_in(asked.request, "namespace");
  string_view name = text_in(metadata, "name");
  if (name.empty()) name = text_in(asked.request, "name");
  const string_view prefix = text_in(metadata, "generateName");
  const std::string shown =
      !name.empty() ? std::string(name) : (prefix.empty() ? "?" : std::string(prefix) + "*");
  return one_line(fmt::format("{}/{}", space, shown), kMaxReviewNameBytes);
}

// Why it is none of ours; empty if it is a new pod that wants us.
std::string why_ignored(const Asked& asked, const ReviewOptions& options) {
  const json::object& request = *asked.request;
  const json::object* kind = object_in(request, "kind");
  if (text_in(kind, "kind") != "Pod" || !text_in(kind, "group").empty()) return "not a pod";
  if (!text_in(&request, "subResource").empty()) return "a part of a pod";
  if (text_in(&request, "operation") != "CREATE") return "not a new pod";
  const string_view space = text_in(&request, "namespace");
  if (std::ranges::find(options.skipped_namespaces, space) != options.skipped_namespaces.end()) {
    return "a namespace that is skipped";
  }
  const json::object* pod = object_in(request, "object");
  const json::object* metadata = pod != nullptr ? object_in(*pod, "metadata") : nullptr;
  const json::object* labels = metadata != nullptr ? object_in(*metadata, "labels") : nullptr;
  return text_in(labels, kInjectLabel) == kInjectDisabled ? "the pod's label" : "";
}

json::object answer_to(const Asked& asked, json::object response) {
  json::object out;
  out["apiVersion"] = json_view(asked.version);
  out["kind"] = "AdmissionReview";
  response["uid"] = json_view(asked.uid);
  out["response"] = std::move(response);
  return out;
}

Reviewed finish(const Asked& asked, Verdict verdict, json::object response, string_view reason) {
  Reviewed made{.verdict = verdict, .pod = name_of(asked), .reason = std::string(reason)};
  made.body = json::serialize(answer_to(asked, std::move(response)));
  const json::value* dry =
      asked.request != nullptr ? asked.request->if_contains("dryRun") : nullptr;
  made.dry_run = dry != nullptr && dry->is_bool() && dry->get_bool();
  return made;
}

Reviewed deny(const Asked& asked, Verdict verdict, const Status& why) {
  const std::string message =
      one_line(string_view(why.message().data(), why.message().size()), kMaxMessageBytes);
  json::object status;
  status["status"] = "Failure";
  status["reason"] = "BadRequest";
  status["code"] = kBadRequest;
  status["message"] = message;
  return finish(asked, verdict, {{"allowed", false}, {"status", std::move(status)}}, message);
}

json::array to_answer(const std::vector<Warning>& all) {
  const std::vector<Warning> warnings = condensed(all);
  json::array out;
  for (const Warning& warning : warnings) {
    if (out.size() + 1 == kMaxWarnings && warnings.size() > kMaxWarnings) {
      out.emplace_back(fmt::format("and {} more", warnings.size() - out.size()));
      break;
    }
    out.emplace_back(one_line(to_text(warning), kMaxWarningBytes));
  }
  return out;
}

Reviewed allow(const Asked& asked, const Translation& made) {
  json::object response{{"allowed", true}};
  // Both or neither: an API server refuses one without the other.
  if (!made.patch.empty()) {
    response["patchType"] = "JSONPatch";
    response["patch"] = absl::Base64Escape(json::serialize(made.patch));
  }
  json::array warnings = to_answer(made.warnings);
  const size_t count = warnings.size();
  if (count > 0) response["warnings"] = std::move(warnings);
  const Verdict verdict = made.patch.empty() ? Verdict::Unchanged : Verdict::Patched;
  Reviewed reviewed = finish(asked, verdict, std::move(response), {});
  reviewed.operations = made.patch.size();
  reviewed.warnings = count;
  return reviewed;
}

// Whatever else is wrong with us must not keep pods from starting.
Reviewed leave_alone(const Asked& asked, const Status& why) {
  const Reason reason = split_reason(why);
  Translation none;
  none.warnings.push_back({reason.code.empty() ? "HF7121" : std::string(reason.code), "",
                           fmt::format("the probes stay as they are: {}", reason.message)});
  Reviewed made = allow(asked, none);
  made.reason = one_line(string_view(why.message().data(), why.message().size()), kMaxMessageBytes);
  return made;
}

// What the request says of the object's kind counts if the object itself leaves it out.
json::value with_kind(const json::object& pod) {
  json::object named = pod;
  if (!named.contains("apiVersion")) named["apiVersion"] = "v1";
  if (!named.contains("kind")) named["kind"] = "Pod";
  return named;
}

Reviewed answer(const Asked& asked, const ReviewOptions& options, const Translate& translate) {
  const std::string ignored = why_ignored(asked, options);
  if (!ignored.empty()) return finish(asked, Verdict::Ignored, {{"allowed", true}}, ignored);
  const json::value* pod = asked.request->if_contains("object");
  if (pod == nullptr || !pod->is_object()) {
    return deny(asked, Verdict::Malformed, malformed("the request has no object"));
  }
  const Result<Translation> made = translate(with_kind(pod->get_object()), options.inject);
  if (made.ok()) return allow(asked, *made);
  const bool conflict = made.status().code() == absl::StatusCode::kInvalidArgument;
  return conflict ? deny(asked, Verdict::Denied, made.status()) : leave_alone(asked, made.status());
}

}  // namespace

string_view to_string(Verdict verdict) {
  static constexpr string_view kNames[] = {"patched", "unchanged", "ignored", "denied",
                                           "malformed"};
  return kNames[static_cast<size_t>(verdict)];
}

Reviewed review(string_view bytes, const ReviewOptions& options, const Translate& translate) {
  if (bytes.empty()) return refuse("the request has no body");
  json::parse_options strict;
  strict.max_depth = kMaxReviewDepth;
  json::error_code error;
  const json::value document = json::parse(json_view(bytes), error, {}, strict);
  if (error) return refuse("the request is not JSON");
  Asked asked;
  const Status readable = read_question(document, asked);
  if (!readable.ok()) return deny(asked, Verdict::Malformed, readable);
  return answer(asked, options, translate);
}

Reviewed refuse(string_view why) {
  return deny({}, Verdict::Malformed, malformed(why));
}

bool is_json(string_view content_type) {
  const string_view type = content_type.substr(0, content_type.find(';'));
  const absl::string_view bare =
      absl::StripAsciiWhitespace(absl::string_view(type.data(), type.size()));
  return absl::EqualsIgnoreCase(bare, "application/json");
}

}  // namespace holdfast::inject
