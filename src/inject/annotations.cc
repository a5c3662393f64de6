#include "inject/annotations.h"

#include <fmt/format.h>
#include <boost/json/serialize.hpp>

#include "base/bytes.h"
#include "base/reason.h"
#include "inject/exclusions.h"

namespace holdfast::inject {
namespace {

using std::string_view;

const json::object* annotations_of(const json::object& pod) {
  const json::object* metadata = find_object(pod, "metadata");
  return metadata == nullptr ? nullptr : find_object(*metadata, "annotations");
}

// A number or a truth value in YAML without quotes is refused by Kubernetes later; it is read all
// the same.
std::string text_of(const Was& was) {
  if (!was || was->is_null()) return "";
  return was->is_string() ? std::string(view(was->get_string())) : json::serialize(*was);
}

bool is_exclusion(string_view name) {
  return name == kExcludeInbound || name == kOwnExcludeInbound;
}

Was user_value(const json::object& pod, const Record& old, string_view name);

bool is_set(const Was& was) {
  return was && !was->is_null();
}

// What we wrote over `before`.
std::string written_annotation(const json::object& pod, const Record& old, string_view name,
                               const Was& before) {
  if (name == kVirtualProbes) return "enabled";
  if (name == kVirtualProbesPort) return std::to_string(old.port);
  const bool of_twin = name == kExcludeInbound && !is_set(before);
  const Was list = of_twin ? user_value(pod, old, kOwnExcludeInbound) : before;
  return with_ports(text_of(list), old.excluded);
}

// The user's own value: what we wrote counts as what it was before, what was changed since counts
// as it is, without the ports that we added.
Was user_value(const json::object& pod, const Record& old, string_view name) {
  const json::object* all = annotations_of(pod);
  Was now = all == nullptr ? Was() : value_of(*all, name);
  const json::value* noted = find(old.annotations, name);
  if (noted == nullptr || !now) return now;
  Was before = was_from(*noted);
  if (text_of(now) == written_annotation(pod, old, name, before)) return before;
  if (!is_exclusion(name)) return now;
  const std::string rest = without_ports(text_of(now), old.excluded);
  return rest.empty() ? Was() : Was(json::value(rest));
}

// Ours if it is there, else the seed's.
std::string chosen(const json::object& pod, const Record& old, string_view own, string_view seed) {
  const Was value = user_value(pod, old, own);
  return text_of(is_set(value) ? value : user_value(pod, old, seed));
}

Status wrong_value(string_view own, string_view seed, string_view value, string_view right) {
  return coded(
      absl::StatusCode::kInvalidArgument, "HF7103",
      fmt::format("the annotation {} (or {}) is {}; use {}", own, seed, in_quotes(value), right));
}

Status check_exclusions(const json::object& pod, const Record& old, string_view name) {
  const std::string list = text_of(user_value(pod, old, name));
  const std::optional<std::string> part = wrong_part(list);
  if (!part) return absl::OkStatus();
  return coded(absl::StatusCode::kInvalidArgument, "HF7103",
               fmt::format("the annotation {} is {}, and {} is no port; use ports from 1 to 65535, "
                           "or ranges of them, with commas between",
                           name, in_quotes(list), in_quotes(*part)));
}

bool is_on(string_view text) {
  return text == "enabled" || text == "true";
}

bool is_off(string_view text) {
  return text == "disabled" || text == "false";
}

}  // namespace

Result<Settings> read_settings(const json::object& pod, const Record& old,
                               const InjectOptions& options) {
  Settings out{.enabled = options.enabled && options.port != 0,
               .port = options.port != 0 ? options.port : InjectOptions{}.port};
  const std::string port = chosen(pod, old, kOwnVirtualProbesPort, kVirtualProbesPort);
  if (!port.empty()) {
    const std::optional<uint16_t> number = read_port(port);
    if (!number && port != "0") {
      return wrong_value(kOwnVirtualProbesPort, kVirtualProbesPort, port, "0 to 65535");
    }
    out.enabled = number.has_value();
    if (number) out.port = *number;
  }
  const std::string word = chosen(pod, old, kOwnVirtualProbes, kVirtualProbes);
  if (!word.empty() && !is_on(word) && !is_off(word)) {
    return wrong_value(kOwnVirtualProbes, kVirtualProbes, word, "enabled or disabled");
  }
  if (is_off(word)) out.enabled = false;
  if (is_on(word) && port.empty()) out.enabled = true;
  for (const string_view list : {kOwnExcludeInbound, kExcludeInbound}) {
    TRY_OK(check_exclusions(pod, old, list));
  }
  const std::string gateway = text_of(user_value(pod, old, kGateway));
  out.gateway = !gateway.empty() && !is_off(gateway);
  if (out.gateway && !port.empty() && port != "0") {
    return coded(absl::StatusCode::kInvalidArgument, "HF7103",
                 fmt::format("the pod is a gateway ({}), which has no handler, and asks for one on "
                             "port {}; remove one of the two annotations",
                             kGateway, port));
  }
  return out;
}

json::object& AnnotationWriter::all() {
  json::object* parent = &pod_;
  for (const string_view name : {"metadata", "annotations"}) {
    if (find_object(*parent, name) == nullptr) {
      record_.made[key(name)] = to_json(value_of(*parent, name));
      (*parent)[key(name)] = json::object();
    }
    parent = find_object(*parent, name);
  }
  return *parent;
}

void AnnotationWriter::write(string_view name, string_view value) {
  const Was before = user_value(pod_, old_, name);
  const bool same = before && before->is_string() && view(before->get_string()) == value;
  if (!same) record_.annotations[key(name)] = to_json(before);
  all()[key(name)] = key(value);
}

void AnnotationWriter::enabled(uint16_t port) {
  write(kVirtualProbes, "enabled");
  write(kVirtualProbesPort, std::to_string(port));
}

void AnnotationWriter::exclude(std::span<const uint16_t> ports) {
  record_.excluded.assign(ports.begin(), ports.end());
  const Was own = user_value(pod_, old_, kOwnExcludeInbound);
  const Was seed = user_value(pod_, old_, kExcludeInbound);
  write(kExcludeInbound, with_ports(text_of(is_set(seed) ? seed : own), ports));
  if (is_set(own)) write(kOwnExcludeInbound, with_ports(text_of(own), ports));
}

Status AnnotationWriter::finish() {
  json::object& annotations = all();
  for (const auto& member : old_.made) record_.made[member.key()] = member.value();
  const std::string text = to_text(record_);
  if (text.size() > kMaxRecordBytes) {
    return coded(absl::StatusCode::kResourceExhausted, "HF7106",
                 fmt::format("the original probes are {} bytes long; an annotation takes {}",
                             text.size(), kMaxRecordBytes));
  }
  annotations[key(kRecordAnnotation)] = text;
  return absl::OkStatus();
}

void restore_annotations(json::object& pod, const Record& record) {
  json::object* metadata = find_object(pod, "metadata");
  json::object* all = metadata == nullptr ? nullptr : find_object(*metadata, "annotations");
  if (all == nullptr) return;
  json::object before;  // all of them, before any is taken away: lists look at their twins
  for (const auto& member : record.annotations) {
    before[member.key()] = to_json(user_value(pod, record, view(member.key())));
  }
  for (const auto& member : before) restore(*all, view(member.key()), was_from(member.value()));
  restore(*all, kRecordAnnotation, Was());
  const json::value* annotations = find(record.made, "annotations");
  if (annotations == nullptr || !all->empty()) return;
  restore(*metadata, "annotations", was_from(*annotations));
  const json::value* made = find(record.made, "metadata");
  const bool bare = metadata->empty() && made != nullptr;
  if (bare) restore(pod, "metadata", was_from(*made));
}

}  // namespace holdfast::inject
