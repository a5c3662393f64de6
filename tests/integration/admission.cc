#include "admission.h"

#include <absl/strings/escaping.h>
#include <fmt/format.h>

#include <boost/json/parse.hpp>
#include <set>

#include "json_patch.h"

namespace holdfast::test {
namespace {

namespace json = boost::json;
using std::string_view;

constexpr const char* kProbes[] = {"livenessProbe", "readinessProbe", "startupProbe"};

std::string text(const json::object& object, string_view key) {
  const json::value* found = object.if_contains(json::string_view(key.data(), key.size()));
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : "";
}

Admission failed(const AdmissionCall& call, std::string why) {
  if (call.policy == FailurePolicy::Ignore) {
    return {.code = 201, .pod = call.pod, .message = std::move(why), .webhook_failed = true};
  }
  return {.code = 500, .message = "failed calling webhook: " + why, .webhook_failed = true};
}

Admission broken(std::string why) {
  return {.code = 500, .message = std::move(why)};
}

// The response, if everything about it is as it must be; else why the call counts as failed.
Result<json::object> response_of(const AdmissionCall& call, const Result<net::HttpAnswer>& answer) {
  TRY(const net::HttpAnswer got, answer);
  if (got.status != 200) return absl::UnavailableError(fmt::format("status {}", got.status));
  json::error_code error;
  const json::value review = json::parse(got.body, error);
  if (error || !review.is_object()) return absl::DataLossError("the answer is not JSON");
  const json::object& object = review.get_object();
  if (text(object, "apiVersion") != call.version || text(object, "kind") != "AdmissionReview") {
    return absl::DataLossError("expected AdmissionReview of " + call.version);
  }
  const json::value* response = object.if_contains("response");
  if (response == nullptr || !response->is_object()) {
    return absl::DataLossError("the webhook response was absent");
  }
  if (text(response->get_object(), "uid") != call.uid) {
    return absl::DataLossError("expected response.uid " + call.uid);
  }
  const json::object& answered = response->get_object();
  const std::string type = text(answered, "patchType");
  if (answered.contains("patch") != !type.empty()) {
    return absl::DataLossError("patch and patchType come together");
  }
  if (!type.empty() && type != "JSONPatch") return absl::DataLossError("unknown patchType " + type);
  return answered;
}

Admission denied(const json::object& response) {
  Admission made{.code = 400, .message = "denied the request without explanation"};
  const json::value* status = response.if_contains("status");
  if (status == nullptr || !status->is_object()) return made;
  const json::value* code = status->get_object().if_contains("code");
  if (code != nullptr && code->is_int64() && code->get_int64() >= 400) {
    made.code = static_cast<int>(code->get_int64());
  }
  const std::string message = text(status->get_object(), "message");
  if (!message.empty()) made.message = "denied the request: " + message;
  return made;
}

// Whether its failure counts is no longer the failurePolicy's to say.
Admission patched(const AdmissionCall& call, const json::object& response) {
  std::string bytes;
  if (!absl::Base64Unescape(text(response, "patch"), &bytes)) {
    return failed(call, "the patch is not base64");
  }
  json::error_code error;
  const json::value patch = json::parse(bytes, error);
  if (error) return broken("the patch is not JSON");
  Result<json::value> pod = apply_patch(call.pod, patch);
  if (!pod.ok()) return broken(pod.status().ToString());
  PodProblem problem = check_pod(*pod);
  if (problem.code != 0) return {.code = problem.code, .message = std::move(problem.message)};
  return {.code = 201, .pod = *std::move(pod)};
}

void set_default(json::object& object, const char* key, const json::value& value) {
  if (!object.contains(key)) object[key] = value;
}

void default_probe(json::object& probe) {
  set_default(probe, "timeoutSeconds", 1);
  set_default(probe, "periodSeconds", 10);
  set_default(probe, "successThreshold", 1);
  set_default(probe, "failureThreshold", 3);
  if (json::value* http = probe.if_contains("httpGet")) {
    set_default(http->as_object(), "path", "/");
    set_default(http->as_object(), "scheme", "HTTP");
  }
  if (json::value* grpc = probe.if_contains("grpc")) {
    set_default(grpc->as_object(), "service", "");
  }
}

void default_container(json::object& container) {
  for (const char* kind : kProbes) {
    if (json::value* probe = container.if_contains(kind)) default_probe(probe->as_object());
  }
  json::value* ports = container.if_contains("ports");
  if (ports == nullptr) return;
  for (json::value& port : ports->as_array()) set_default(port.as_object(), "protocol", "TCP");
}

PodProblem check_port(const json::value* port, const std::string& where) {
  if (port == nullptr) return {422, where + ": required"};
  if (port->is_string()) return {};
  if (!port->is_int64()) return {500, where + ": not a port"};
  const int64_t number = port->get_int64();
  return number >= 1 && number <= 65535 ? PodProblem{} : PodProblem{422, where + ": 1-65535"};
}

PodProblem check_container(const json::object& container) {
  for (const char* kind : kProbes) {
    const json::value* probe = container.if_contains(kind);
    if (probe == nullptr) continue;
    if (!probe->is_object()) return {500, std::string(kind) + ": wrong type"};
    for (const char* action : {"httpGet", "tcpSocket", "grpc"}) {
      const json::value* found = probe->get_object().if_contains(action);
      if (found == nullptr) continue;
      if (!found->is_object()) return {500, std::string(action) + ": wrong type"};
      const PodProblem problem =
          check_port(found->get_object().if_contains("port"), fmt::format("{}.{}", kind, action));
      if (problem.code != 0) return problem;
    }
  }
  return {};
}

PodProblem check_metadata(const json::object& pod) {
  const json::value* metadata = pod.if_contains("metadata");
  if (metadata == nullptr) return {};
  if (!metadata->is_object()) return {500, "metadata: wrong type"};
  for (const char* key : {"annotations", "labels"}) {
    const json::value* texts = metadata->get_object().if_contains(key);
    if (texts == nullptr) continue;
    if (!texts->is_object()) return {500, std::string(key) + ": wrong type"};
    for (const auto& one : texts->get_object()) {
      if (!one.value().is_string()) return {500, std::string(key) + ": not a text"};
    }
  }
  return {};
}

}  // namespace

Admission admit(const AdmissionCall& call, const Result<net::HttpAnswer>& answer) {
  const Result<json::object> response = response_of(call, answer);
  if (!response.ok()) return failed(call, response.status().ToString());
  const json::value* allowed = response->if_contains("allowed");
  const bool let_in = allowed != nullptr && allowed->is_bool() && allowed->get_bool();
  Admission made = !let_in ? denied(*response) : Admission{.code = 201, .pod = call.pod};
  if (let_in && response->contains("patch")) made = patched(call, *response);
  if (const json::value* warnings = response->if_contains("warnings")) {
    for (const json::value& one : warnings->as_array()) {
      made.warnings.emplace_back(one.as_string().c_str());
    }
  }
  return made;
}

void set_defaults(json::value& pod) {
  json::object& spec = pod.as_object()["spec"].as_object();
  for (const char* list : {"containers", "initContainers"}) {
    json::value* containers = spec.if_contains(list);
    if (containers == nullptr) continue;
    for (json::value& one : containers->as_array()) default_container(one.as_object());
  }
  set_default(spec, "restartPolicy", "Always");
  set_default(spec, "terminationGracePeriodSeconds", 30);
}

PodProblem check_pod(const json::value& pod) {
  if (!pod.is_object()) return {500, "not an object"};
  const PodProblem metadata = check_metadata(pod.get_object());
  if (metadata.code != 0) return metadata;
  const json::value* spec = pod.get_object().if_contains("spec");
  if (spec == nullptr || !spec->is_object()) return {500, "spec: wrong type"};
  std::set<std::string> names;
  for (const char* list : {"containers", "initContainers"}) {
    const json::value* containers = spec->get_object().if_contains(list);
    if (containers == nullptr) continue;
    if (!containers->is_array()) return {500, std::string(list) + ": wrong type"};
    for (const json::value& one : containers->get_array()) {
      if (!one.is_object()) return {500, std::string(list) + ": wrong type"};
      const PodProblem problem = check_container(one.get_object());
      if (problem.code != 0) return problem;
      if (!names.insert(text(one.get_object(), "name")).second) return {422, "name: duplicate"};
    }
  }
  return names.empty() ? PodProblem{422, "spec.containers: required"} : PodProblem{};
}

}  // namespace holdfast::test
