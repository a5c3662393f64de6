#include "node/identity_loader.h"

#include <absl/strings/str_split.h>
#include <fmt/format.h>

#include "base/bytes.h"
#include "base/private_file.h"
#include "base/reason.h"
#include "resource/node.h"

namespace holdfast::node {
namespace {

Status unusable(const std::string& path, std::string_view why) {
  return coded(absl::StatusCode::kInvalidArgument, "HF5018",
               fmt::format("{}: {}", in_quotes(path, 256), why));
}

Result<std::string> read_part(const std::string& path) {
  const Result<std::string> text = read_small_file(path);
  if (!text.ok()) return unusable(path, std::string(text.status().message()));
  return text;
}

struct Hints {
  std::string name{};
  std::vector<std::string> servers{};
};

std::string text_of(const resource::Node& mapping, std::string_view key) {
  const resource::Node* found = resource::find_member(mapping, key);
  return found != nullptr && found->shape == resource::Node::Shape::Scalar ? found->text : "";
}

// Only hints: a folder without them is used with the servers that are named.
Hints read_hints(const std::string& path) {
  const Result<std::string> text = read_small_file(path);
  if (!text.ok()) return {};
  const auto documents = resource::read_yaml(*text);
  if (!documents || documents->size() != 1) return {};
  return {.name = text_of(documents->front(), "name"),
          .servers = absl::StrSplit(text_of(documents->front(), "server"), ',', absl::SkipEmpty())};
}

std::vector<std::string> oddities(const std::string& folder, const HeldIdentity& held,
                                  const Hints& hints) {
  std::vector<std::string> found;
  if (is_open_to_others(folder + "/identity.pem")) {
    found.push_back(fmt::format("others may read the private key in {}; use chmod 600",
                                in_quotes(folder + "/identity.pem", 256)));
  }
  if (!hints.name.empty() && hints.name != held.who.name) {
    found.push_back(
        fmt::format("{} holds the identity of {}, and its node.yaml is of {}; the "
                    "identity counts",
                    in_quotes(folder, 256), identity::to_string(held.who), in_quotes(hints.name)));
  }
  return found;
}

}  // namespace

Result<LoadedNode> load_node(const std::string& folder) {
  const std::string identity_path = folder + "/identity.pem";
  const Result<std::string> identity = read_small_file(identity_path);
  if (absl::IsNotFound(identity.status())) {
    return coded(absl::StatusCode::kFailedPrecondition, "HF5017",
                 fmt::format("{} holds no identity; join a cluster first: holdfast join",
                             in_quotes(folder, 256)));
  }
  if (!identity.ok()) return unusable(identity_path, std::string(identity.status().message()));
  IdentityPems pems = split_identity(*identity);
  TRY(pems.ca, read_part(folder + "/ca.pem"));
  Result<HeldIdentity> held = make_held(pems);
  if (!held.ok()) return unusable(folder, std::string(held.status().message()));
  Hints hints = read_hints(folder + "/node.yaml");
  std::vector<std::string> warnings = oddities(folder, *held, hints);
  return LoadedNode{.held = *std::move(held),
                    .servers = std::move(hints.servers),
                    .warnings = std::move(warnings)};
}

Status save_bundle(const std::string& folder, const HeldIdentity& held) {
  return write_private_file(folder + "/ca.pem", held.ca_pem);
}

Status save_identity(const std::string& folder, const HeldIdentity& held) {
  TRY_OK(save_bundle(folder, held));
  return write_private_file(folder + "/identity.pem", held.private_key_pem + held.certificate_pem);
}

}  // namespace holdfast::node
