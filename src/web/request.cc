#include "web/request.h"

#include <absl/strings/ascii.h>
#include <absl/strings/string_view.h>
#include <fmt/format.h>

#include <optional>

#include "api/request_id.h"
#include "base/bytes.h"
#include "base/reason.h"
#include "resource/codec.h"
#include "resource/registry.h"
#include "resource/scalar_text.h"

namespace holdfast::web {
namespace {

using std::string_view;

Status wrong(string_view what, string_view why) {
  return absl::InvalidArgumentError(fmt::format("{}: {}", what, why));
}

Status unknown_parameter(string_view name) {
  return absl::InvalidArgumentError(
      fmt::format("this path takes no parameter {}", in_quotes(name)));
}

template <typename Int>
Result<Int> number(string_view what, string_view text) {
  const auto parsed = resource::parse_int<Int>(text);
  if (!parsed) return wrong(what, parsed.error());
  if (*parsed < 0) return wrong(what, "must not be negative");
  return *parsed;
}

// "k=v"; asking for two values of one label can match nothing, so it is a mistake.
template <typename Labels>
Status add_label(string_view text, Labels& labels) {
  const size_t equals = text.find('=');
  if (equals == string_view::npos || equals == 0) {
    return wrong("label", fmt::format("{} is not KEY=VALUE", in_quotes(text)));
  }
  const std::string key(text.substr(0, equals));
  if (labels.contains(key)) return wrong("label", fmt::format("{} is given twice", in_quotes(key)));
  labels[key] = std::string(text.substr(equals + 1));
  return absl::OkStatus();
}

string_view header(const net::HttpRequest& request, const std::string& name) {
  const auto found = request.headers.find(name);
  return found == request.headers.end() ? string_view() : string_view(found->second);
}

// "7" with its quotes, or 7; absent if there is no If-Match; 0 for "*".
Result<std::optional<int64_t>> if_match(const net::HttpRequest& request) {
  string_view text = header(request, "if-match");
  if (text.empty()) return std::nullopt;
  if (text == "*") return 0;
  if (text.size() >= 2 && text.starts_with('"') && text.ends_with('"')) {
    text = text.substr(1, text.size() - 2);
  }
  TRY(const int64_t revision, number<int64_t>("If-Match", text));
  if (revision == 0) return wrong("If-Match", "0 is no revision");
  return revision;
}

// In quotes or without; empty if there is none. One that is sent must be one: a client that counts
// on it may send its request again.
Result<std::string> idempotency_key(const net::HttpRequest& request) {
  if (!request.headers.contains("idempotency-key")) return std::string();
  string_view text = header(request, "idempotency-key");
  if (text.size() >= 2 && text.starts_with('"') && text.ends_with('"')) {
    text = text.substr(1, text.size() - 2);
  }
  if (api::is_request_id(text)) return std::string(text);
  if (text.contains(',')) return wrong("Idempotency-Key", "send one");
  return wrong("Idempotency-Key", fmt::format("{} to {} letters, digits, '-' and '_'",
                                              api::kMinRequestId, api::kMaxRequestId));
}

string_view media_type(string_view content_type) {
  const absl::string_view whole(content_type.data(), content_type.size());
  const absl::string_view type = absl::StripAsciiWhitespace(whole.substr(0, whole.find(';')));
  return {type.data(), type.size()};
}

bool is_yaml(string_view content_type) {
  const string_view type = media_type(content_type);
  return type == "application/yaml" || type == "application/x-yaml";
}

Result<v1::Resource> only_resource(const net::HttpRequest& request) {
  const auto format =
      is_yaml(header(request, "content-type")) ? resource::Format::Yaml : resource::Format::Json;
  auto parsed = resource::parse_resources(request.body, format);
  if (!parsed) {
    const Status why = resource::to_status(parsed.error());
    return coded(why.code(), fmt::format("HF{}", static_cast<int>(parsed.error().code)),
                 string_view(why.message().data(), why.message().size()));
  }
  if (parsed->size() == 1) return std::move(parsed->front());
  return wrong("body", fmt::format("{} resources; give one", parsed->size()));
}

// The exact name if this version knows the kind; else as it is, for others to refuse.
std::string kind_name(const std::string& spelling) {
  const Result<resource::Kind> kind = resource::find_kind(spelling);
  return kind.ok() ? std::string(resource::info(*kind).name) : spelling;
}

Result<bool> flag(string_view what, string_view text) {
  if (text.empty() || text == "1" || text == "true") return true;
  if (text == "0" || text == "false") return false;
  return wrong(what, fmt::format("{} is neither 1 nor 0", in_quotes(text)));
}

}  // namespace

Result<v1::ListRequest> list_request(const Route& route, const net::HttpRequest& request) {
  v1::ListRequest out;
  out.set_kind(route.kind);
  for (const auto& [name, value] : request.target.query) {
    if (name == "page_size") {
      TRY(const uint32_t size, number<uint32_t>(name, value));
      out.set_page_size(size);
    } else if (name == "page_token") {
      out.set_page_token(value);
    } else if (name == "label") {
      TRY_OK(add_label(value, *out.mutable_labels()));
    } else {
      return unknown_parameter(name);
    }
  }
  return out;
}

Result<v1::DeleteRequest> delete_request(const Route& route, const net::HttpRequest& request) {
  v1::DeleteRequest out;
  out.set_kind(route.kind);
  out.set_name(route.name);
  TRY(const std::optional<int64_t> matched, if_match(request));
  out.set_revision(matched.value_or(0));
  TRY(*out.mutable_request_id(), idempotency_key(request));
  for (const auto& [name, value] : request.target.query) {
    if (name != "revision") return unknown_parameter(name);
    TRY(const int64_t revision, number<int64_t>(name, value));
    out.set_revision(revision);
  }
  return out;
}

Result<v1::WatchRequest> watch_request(const net::HttpRequest& request) {
  v1::WatchRequest out;
  v1::WatchKind filter;
  for (const auto& [name, value] : request.target.query) {
    if (name == "kind") {
      out.add_kinds()->set_kind(kind_name(value));
    } else if (name == "name") {
      filter.set_name(value);
    } else if (name == "label") {
      TRY_OK(add_label(value, *filter.mutable_labels()));
    } else if (name == "after") {
      TRY(const int64_t after, number<int64_t>(name, value));
      out.set_after_revision(after);
    } else if (name == "partial") {
      TRY(const bool partial, flag(name, value));
      out.set_allow_partial_success(partial);
    } else {
      return unknown_parameter(name);
    }
  }
  const string_view last_seen = header(request, "last-event-id");
  if (!last_seen.empty()) {
    TRY(const int64_t after, number<int64_t>("Last-Event-ID", last_seen));
    out.set_after_revision(after);
  }
  for (v1::WatchKind& kind : *out.mutable_kinds()) {
    const std::string name = kind.kind();
    kind = filter;
    kind.set_kind(name);
  }
  return out;
}

Status no_query(const net::HttpRequest& request) {
  for (const auto& [name, value] : request.target.query) {
    if (name != "verbose") return unknown_parameter(name);
  }
  return absl::OkStatus();
}

Result<Write> write_request(const Route& route, const net::HttpRequest& request) {
  TRY_OK(no_query(request));
  TRY(v1::Resource resource, only_resource(request));
  if (resource.kind() != route.kind) {
    return wrong("kind", fmt::format("the body is of kind {}, the path of kind {}",
                                     in_quotes(resource.kind()), in_quotes(route.kind)));
  }
  v1::Metadata& metadata = *resource.mutable_metadata();
  if (metadata.name().empty()) metadata.set_name(route.name);
  if (!route.name.empty() && metadata.name() != route.name) {
    return wrong("metadata.name", "not the name in the path");
  }
  TRY(const std::optional<int64_t> matched, if_match(request));
  const bool differ =
      matched.value_or(0) != 0 && metadata.revision() != 0 && *matched != metadata.revision();
  if (differ) return wrong("metadata.revision", "not the revision in If-Match");
  if (matched.value_or(0) != 0) metadata.set_revision(*matched);
  Write write;
  write.must_exist = matched.has_value() || metadata.revision() != 0;
  *write.request.mutable_resource() = std::move(resource);
  TRY(*write.request.mutable_request_id(), idempotency_key(request));
  return write;
}

bool is_readable_type(string_view content_type) {
  return media_type(content_type) == "application/json" || is_yaml(content_type);
}

}  // namespace holdfast::web
