// holdfast apply: resources from files into the controller.
#include <fmt/format.h>
#include <google/protobuf/util/message_differencer.h>

#include "base/bytes.h"
#include "cli/commands.h"
#include "cli/input_file.h"
#include "cli/output.h"
#include "resource/codec.h"
#include "resource/registry.h"
#include "resource/validation.h"

namespace holdfast::cli {
namespace {

struct InputDocument {
  std::string file;
  v1::Resource resource;
};

std::string applied_label(const v1::Resource& resource) {
  return fmt::format("{}/{}", resource.kind(), resource.metadata().name());
}

// Everything in the file, checked; reports what is wrong with it by itself.
Exit load(const Console& console, const std::string& file, std::vector<InputDocument>& documents) {
  Result<std::string> text = read_input(file, resource::ParseOptions{}.max_input_bytes + 1);
  if (!text.ok()) {
    return console.report({Exit::BadInput, "HF6001", std::string(text.status().message()),
                           "name a readable file with -f, or - for standard input"});
  }
  const auto parsed = resource::parse_resources(*text);
  if (!parsed) {
    print_err(resource::format_error(file, *text, parsed.error()));
    return Exit::BadInput;
  }
  for (const v1::Resource& resource : *parsed) {
    const Status valid = resource::validate(resource);
    if (!valid.ok()) {
      return console.report(
          {Exit::BadInput, "HF6010",
           fmt::format("{}: {} {}: {}", file, resource.kind(),
                       in_quotes(resource.metadata().name()), std::string(valid.message())),
           "nothing was changed; correct the file and apply it again"});
    }
    documents.push_back({file, resource});
  }
  return Exit::Ok;
}

bool same(v1::Resource current, const v1::Resource& wanted) {
  current.mutable_metadata()->set_revision(wanted.metadata().revision());
  return google::protobuf::util::MessageDifferencer::Equals(current, wanted);
}

// "created", "configured" or "unchanged".
Result<std::string> apply_one(Client& client, const v1::Resource& wanted, bool dry_run) {
  v1::GetRequest get;
  get.set_kind(wanted.kind());
  get.set_name(wanted.metadata().name());
  const Result<v1::Resource> current = client.get(get);
  v1::WriteRequest write;
  *write.mutable_resource() = wanted;
  if (absl::IsNotFound(current.status()) && wanted.metadata().revision() != 0) {
    return current.status();  // it was there at that revision, and someone has removed it
  }
  if (absl::IsNotFound(current.status())) {
    if (!dry_run) TRY_OK(client.create(write).status());
    return "created";
  }
  TRY_OK(current.status());
  // Secrets are not shown to us: one that the file leaves out the controller keeps, and one that
  // the file has is written, whether it is new or not.
  if (same(*current, wanted)) return "unchanged";
  if (wanted.metadata().revision() == 0) {
    write.mutable_resource()->mutable_metadata()->set_revision(current->metadata().revision());
  }
  if (!dry_run) TRY_OK(client.update(write).status());
  return "configured";
}

}  // namespace

Exit apply(const Session& session, const ApplyOptions& options) {
  std::vector<InputDocument> documents;
  for (const std::string& file : options.files) {
    const Exit loaded = load(session.console, file, documents);
    if (loaded != Exit::Ok) return loaded;
  }
  if (documents.empty()) {
    return session.console.report({Exit::BadInput, "HF6001", "no resources in the input", ""});
  }
  constexpr int kTries = 5;  // against others who change the same resource
  for (const InputDocument& document : documents) {
    Result<std::string> outcome = absl::AbortedError("");
    for (int i = 0; i < kTries && absl::IsAborted(outcome.status()); ++i) {
      outcome = apply_one(session.client, document.resource, options.dry_run);
      if (document.resource.metadata().revision() != 0) break;
    }
    if (!outcome.ok()) {
      Failure failure = explain(outcome.status(), session.client.asked());
      failure.message = fmt::format("{}: {}", applied_label(document.resource), failure.message);
      return session.console.report(failure);
    }
    print_out(fmt::format("{} {}{}\n", applied_label(document.resource), *outcome,
                          options.dry_run ? " (dry run)" : ""));
  }
  return Exit::Ok;
}

}  // namespace holdfast::cli
