#include "cache/copy_loader.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <algorithm>
#include <filesystem>

#include "base/check.h"
#include "base/private_file.h"
#include "base/reason.h"

namespace holdfast::cache {
namespace {

constexpr std::string_view kCopyName = "cache.copy";
constexpr std::string_view kKeyName = "cache.key";

std::string file_of(const CopyPlace& place, std::string_view name) {
  return (std::filesystem::path(place.folder) / name).string();
}

Status unreadable(const Status& why) {
  return coded(
      why.code(), "HF1254",
      fmt::format("the cache's copy on disk cannot be read: {}", std::string(why.message())));
}
Status unwritable(const Status& why) {
  return coded(absl::StatusCode::kUnavailable, "HF1255",
               fmt::format("the cache's copy cannot be written: {}", std::string(why.message())));
}

void fill_at_random(std::span<uint8_t> bytes) {
  HF_CHECK(RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1,
           "the system gives random bytes");
}

// kNotFound if there is none.
Result<CopySecret> read_secret(const CopyPlace& place) {
  CopySecret secret{};
  TRY(std::string text, read_file(file_of(place, kKeyName), secret.size() + 1));
  if (text.size() != secret.size()) {
    return absl::DataLossError(
        fmt::format("{} has {} bytes instead of {}", kKeyName, text.size(), secret.size()));
  }
  std::ranges::copy(text, secret.begin());
  OPENSSL_cleanse(text.data(), text.size());
  return secret;
}

// Whether there is no secret that could ever open anything. One that cannot be read now may be
// readable later, and the copy with it.
bool needs_new_secret(const CopyPlace& place, const Status& why) {
  if (absl::IsNotFound(why)) return true;
  std::error_code error;
  const std::filesystem::path path = file_of(place, kKeyName);
  const bool is_file = std::filesystem::is_regular_file(path, error);
  const uintmax_t bytes = is_file ? std::filesystem::file_size(path, error) : 0;
  return is_file && !error && bytes != CopySecret().size();
}

Result<CopySecret> secret_for_sealing(const CopyPlace& place) {
  Result<CopySecret> known = read_secret(place);
  if (known.ok() || !needs_new_secret(place, known.status())) return known;
  CopySecret made{};
  fill_at_random(made);
  TRY_OK(make_private_folder(place.folder));
  TRY_OK(write_private_file(file_of(place, kKeyName),
                            {reinterpret_cast<const char*>(made.data()), made.size()}));
  return made;
}

// What a process left that was killed while it wrote: "cache.copy.Xa81bQ". Only who writes may do
// this, as there is one writer.
void remove_leftovers(const CopyPlace& place) {
  std::error_code error;
  const std::string begins = fmt::format("{}.", kCopyName);
  std::vector<std::filesystem::path> leftovers;
  for (const auto& entry : std::filesystem::directory_iterator(place.folder, error)) {
    if (entry.path().filename().string().starts_with(begins)) leftovers.push_back(entry.path());
  }
  for (const std::filesystem::path& path : leftovers) std::filesystem::remove(path, error);
}

}  // namespace

Result<OpenedCopy> load_copy(const CopyPlace& place) {
  Result<std::string> sealed = read_file(file_of(place, kCopyName), place.limits.max_bytes);
  if (absl::IsNotFound(sealed.status())) return sealed.status();
  if (!sealed.ok()) return unreadable(sealed.status());
  Result<CopySecret> secret = read_secret(place);
  if (absl::IsNotFound(secret.status())) {
    return unreadable(absl::DataLossError(fmt::format("there is no {}", kKeyName)));
  }
  if (!secret.ok()) return unreadable(secret.status());
  Result<OpenedCopy> opened = open_copy(*std::move(sealed), place.owner, *secret, place.limits);
  OPENSSL_cleanse(secret->data(), secret->size());
  return opened;
}

Status save_copy(const CopyPlace& place, WallTime now, std::vector<KindToSeal> kinds) {
  Result<CopySecret> secret = secret_for_sealing(place);
  if (!secret.ok()) return unwritable(secret.status());
  CopyNonce nonce{};
  fill_at_random(nonce);
  const Result<std::string> sealed =
      seal_copy({.owner = place.owner, .saved = now, .kinds = std::move(kinds)}, *secret, nonce,
                place.limits);
  OPENSSL_cleanse(secret->data(), secret->size());
  TRY_OK(sealed.status());
  remove_leftovers(place);
  const Status written = write_private_file(file_of(place, kCopyName), *sealed);
  return written.ok() ? written : unwritable(written);
}

}  // namespace holdfast::cache
