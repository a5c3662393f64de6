#include "cli/profile.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "base/bytes.h"
#include "base/private_file.h"
#include "resource/encode.h"

namespace holdfast::cli {
namespace {

using resource::Node;

constexpr std::string_view kBegin = "-----BEGIN ";

std::string path_of(const std::string& folder, std::string_view name) {
  return fmt::format("{}/{}", folder, name);
}

std::string member(const Node& mapping, std::string_view key) {
  const Node* found = resource::find_member(mapping, key);
  return found != nullptr && found->shape == Node::Shape::Scalar ? found->text : "";
}

Status unusable(const std::string& path, std::string_view why) {
  return absl::InvalidArgumentError(fmt::format("{}: {}", in_quotes(path, 256), why));
}

// A file that a profile must have: without it the profile is broken, not absent.
Result<std::string> read_part(const std::string& path) {
  const Result<std::string> text = read_small_file(path);
  if (absl::IsNotFound(text.status())) return unusable(path, "is missing");
  return text;
}

Status read_settings(const std::string& path, Profile& profile) {
  TRY(const std::string text, read_small_file(path));
  const auto documents = resource::read_yaml(text);
  if (!documents) return unusable(path, documents.error().message);
  if (documents->size() != 1 || documents->front().shape != Node::Shape::Mapping) {
    return unusable(path, "is not a profile");
  }
  profile.server = member(documents->front(), "server");
  profile.cluster = member(documents->front(), "cluster");
  profile.user = member(documents->front(), "user");
  if (profile.server.empty()) return unusable(path, "names no server");
  return absl::OkStatus();
}

}  // namespace

std::string default_profile_dir() {
  if (const char* config = std::getenv("XDG_CONFIG_HOME"); config != nullptr && *config != '\0') {
    return std::string(config) + "/holdfast";
  }
  const char* home = std::getenv("HOME");
  return home != nullptr && *home != '\0' ? std::string(home) + "/.config/holdfast" : "";
}

Result<KeyAndCertificate> split_identity(const std::string& pem) {
  KeyAndCertificate parts;
  for (size_t at = pem.find(kBegin); at != std::string::npos;) {
    const size_t next = pem.find(kBegin, at + kBegin.size());
    const std::string block = pem.substr(at, next == std::string::npos ? next : next - at);
    const bool key = block.substr(0, block.find('\n')).contains("PRIVATE KEY-----");
    (key ? parts.private_key_pem : parts.certificate_pem) += block;
    at = next;
  }
  if (parts.private_key_pem.empty() || parts.certificate_pem.empty()) {
    return absl::InvalidArgumentError("a private key and a certificate are needed");
  }
  return parts;
}

Result<Profile> load_profile(const std::string& folder) {
  Profile profile;
  TRY_OK(read_settings(path_of(folder, "profile.yaml"), profile));
  TRY(profile.ca_pem, read_part(path_of(folder, "ca.pem")));
  const std::string identity_path = path_of(folder, "identity.pem");
  TRY(const std::string identity, read_part(identity_path));
  Result<KeyAndCertificate> parts = split_identity(identity);
  if (!parts.ok()) return unusable(identity_path, std::string(parts.status().message()));
  profile.open_to_others = is_open_to_others(identity_path);
  profile.private_key_pem = std::move(parts->private_key_pem);
  profile.certificate_pem = std::move(parts->certificate_pem);
  return profile;
}

Status save_profile(const std::string& folder, const Profile& profile) {
  TRY_OK(make_private_folder(folder));
  Node settings = Node::mapping();
  for (const auto& [key, value] : {std::pair{"server", &profile.server},
                                   {"cluster", &profile.cluster},
                                   {"user", &profile.user}}) {
    settings.members.push_back({.key = key, .value = Node::scalar(*value, true)});
  }
  TRY_OK(write_private_file(path_of(folder, "ca.pem"), profile.ca_pem));
  TRY_OK(write_private_file(path_of(folder, "identity.pem"),
                            profile.private_key_pem + profile.certificate_pem));
  // Last: without it there is no profile.
  return write_private_file(path_of(folder, "profile.yaml"), resource::write_yaml(settings));
}

Result<bool> remove_profile(const std::string& folder) {
  bool any = false;
  for (const char* name : {"profile.yaml", "identity.pem", "ca.pem", "proxies"}) {
    std::error_code error;
    any |= std::filesystem::remove(path_of(folder, name), error);
    if (error) return unusable(path_of(folder, name), error.message());
  }
  return any;
}

}  // namespace holdfast::cli
