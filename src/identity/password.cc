#include "identity/password.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <charconv>

#include "identity/openssl.h"

namespace holdfast::identity {
namespace {

using std::string_view;

constexpr size_t kMinPasswordBytes = 8;
constexpr size_t kMaxPasswordBytes = 1024;
constexpr size_t kSaltBytes = 16;
constexpr size_t kHashBytes = 32;
constexpr string_view kScryptPrefix = "$scrypt$ln=";
constexpr uint64_t kMaxMemoryBytes = uint64_t{64} << 20;
constexpr int kMaxP = 4;
constexpr int kMaxR = 32;
constexpr int kMaxLog2N = 20;

// Of the large table and the small ones beside it.
uint64_t memory_of(const ScryptCost& cost) {
  const auto blocks = (uint64_t{1} << cost.log2_n) + static_cast<uint64_t>(cost.p) + 2;
  return 128 * static_cast<uint64_t>(cost.r) * blocks;
}

bool is_bearable(const ScryptCost& cost) {
  return cost.log2_n >= 1 && cost.log2_n <= kMaxLog2N && cost.r >= 1 && cost.r <= kMaxR &&
         cost.p >= 1 && cost.p <= kMaxP && memory_of(cost) <= kMaxMemoryBytes;
}

const unsigned char* hash_input(string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

// Empty if OpenSSL has no memory for it.
std::string derive(string_view password, string_view salt, const ScryptCost& cost) {
  const ssl::QuietErrors quiet;
  std::string hash(kHashBytes, '\0');
  const int done = EVP_PBE_scrypt(password.data(), password.size(), hash_input(salt), salt.size(),
                                  uint64_t{1} << cost.log2_n, static_cast<uint64_t>(cost.r),
                                  static_cast<uint64_t>(cost.p), 2 * kMaxMemoryBytes,
                                  reinterpret_cast<unsigned char*>(hash.data()), hash.size());
  return done == 1 ? hash : std::string();
}

// Without the padding at the end, which says nothing here.
std::string to_base64(string_view bytes) {
  std::string out(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()), hash_input(bytes),
                  static_cast<int>(bytes.size()));
  out.resize((bytes.size() * 4 + 2) / 3);
  return out;
}

// Absent unless it is what to_base64() makes of `size` bytes.
std::optional<std::string> from_base64(string_view text, size_t size) {
  if (text.size() != (size * 4 + 2) / 3) return std::nullopt;
  std::string padded(text);
  while (padded.size() % 4 != 0) padded += '=';
  std::string out(padded.size(), '\0');
  const int decoded = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                      hash_input(padded), static_cast<int>(padded.size()));
  out.resize(size);
  if (decoded < 0 || to_base64(out) != text) return std::nullopt;
  return out;
}

// The number that `rest` begins with, and then `end`; both are taken off.
std::optional<int> take_number(string_view& rest, string_view end) {
  int number = 0;
  const auto [stop, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  if (error != std::errc()) return std::nullopt;
  rest.remove_prefix(static_cast<size_t>(stop - rest.data()));
  if (!rest.starts_with(end)) return std::nullopt;
  rest.remove_prefix(end.size());
  return number;
}

}  // namespace

Status check_password(string_view password) {
  if (password.size() >= kMinPasswordBytes && password.size() <= kMaxPasswordBytes) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(fmt::format("a password has {} to {} bytes; this one has {}",
                                                kMinPasswordBytes, kMaxPasswordBytes,
                                                password.size()));
}

std::string to_text(const StoredPassword& stored) {
  return fmt::format("{}{},r={},p={}${}${}", kScryptPrefix, stored.cost.log2_n, stored.cost.r,
                     stored.cost.p, to_base64(stored.salt), to_base64(stored.hash));
}

std::optional<StoredPassword> parse_stored_password(string_view text) {
  if (!text.starts_with(kScryptPrefix)) return std::nullopt;
  string_view rest = text.substr(kScryptPrefix.size());
  const auto log2_n = take_number(rest, ",r=");
  const auto r = log2_n ? take_number(rest, ",p=") : std::nullopt;
  const auto p = r ? take_number(rest, "$") : std::nullopt;
  if (!p) return std::nullopt;
  StoredPassword stored{.cost = {.log2_n = *log2_n, .r = *r, .p = *p}};
  const size_t dollar = rest.find('$');
  if (!is_bearable(stored.cost) || dollar == string_view::npos) return std::nullopt;
  auto salt = from_base64(rest.substr(0, dollar), kSaltBytes);
  auto hash = from_base64(rest.substr(dollar + 1), kHashBytes);
  if (!salt || !hash) return std::nullopt;
  stored.salt = *std::move(salt);
  stored.hash = *std::move(hash);
  // Numbers such as "015" read back differently.
  if (to_text(stored) != text) return std::nullopt;
  return stored;
}

Result<std::string> hash_password(string_view password, const std::array<uint8_t, 16>& salt,
                                  ScryptCost cost) {
  TRY_OK(check_password(password));
  if (!is_bearable(cost)) return absl::InvalidArgumentError("scrypt would cost too much memory");
  StoredPassword stored{.cost = cost};
  stored.salt.assign(salt.begin(), salt.end());
  stored.hash = derive(password, stored.salt, cost);
  if (stored.hash.empty()) return absl::ResourceExhaustedError("no memory for scrypt");
  return to_text(stored);
}

bool verify_password(string_view password, string_view stored) {
  if (password.size() > kMaxPasswordBytes) return false;
  if (stored.empty()) {
    derive(password, std::string(kSaltBytes, '\0'), {});  // only for the time it takes
    return false;
  }
  const auto kept = parse_stored_password(stored);
  if (!kept) return false;
  const std::string hash = derive(password, kept->salt, kept->cost);
  return hash.size() == kept->hash.size() &&
         CRYPTO_memcmp(hash.data(), kept->hash.data(), hash.size()) == 0;
}

}  // namespace holdfast::identity
