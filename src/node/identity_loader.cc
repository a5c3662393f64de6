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
               fmt::format("{}: {}", quoted(path, 256), why));
}

Result<std::string> read_part(const std::string& path) {
  const Result<std::string> text = read_small_file(path);
  if (!text.ok()) return unusable(path, std::string(text.status().message()));
  return text;
}

// Only a hint: a folder without it is used with the servers that are named.
std::vector<std::string> read_servers(const std::string& path) {
  const Result<std::string> text = read_small_file(path);
  if (!text.ok()) return {};
  const auto documents = resource::read_yaml(*text);
  if (!documents || documents->size() != 1) return {};
  const resource::Node* server = resource::find_member(documents->front(), "server");
  const bool is_text = server != nullptr && server->shape == resource::Node::Shape::Scalar;
  if (!is_text) return {};
  return absl::StrSplit(server->text, ',', absl::SkipEmpty());
}

}  // namespace

Result<LoadedNode> load_node(const std::string& folder) {
  const std::string identity_path = folder + "/identity.pem";
  const Result<std::string> identity = read_small_file(identity_path);
  if (absl::IsNotFound(identity.status())) {
    return coded(absl::StatusCode::kFailedPrecondition, "HF5017",
                 fmt::format("{} holds no identity; join a cluster first: holdfast join",
                             quoted(folder, 256)));
  }
  if (!identity.ok()) return unusable(identity_path, std::string(identity.status().message()));
  IdentityPems pems = split_identity(*identity);
  TRY(pems.ca, read_part(folder + "/ca.pem"));
  Result<HeldIdentity> held = make_held(pems);
  if (!held.ok()) return unusable(folder, std::string(held.status().message()));
  return LoadedNode{.held = *std::move(held), .servers = read_servers(folder + "/node.yaml")};
}

Status save_bundle(const std::string& folder, const HeldIdentity& held) {
  return write_private_file(folder + "/ca.pem", held.ca_pem);
}

Status save_identity(const std::string& folder, const HeldIdentity& held) {
  TRY_OK(save_bundle(folder, held));
  return write_private_file(folder + "/identity.pem", held.private_key_pem + held.certificate_pem);
}

}  // namespace holdfast::node
