// Foreign bytes as a copy on disk; and, since no bytes pass the seal by chance, foreign bytes as
// header and body of a copy that was sealed with the right key.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "cache/copy_cipher.h"
#include "cache/sealed_copy.h"

namespace {

using namespace holdfast::cache;

constexpr CopySecret kSecret{7};
constexpr CopyNonce kNonce{};
const CopyLimits kLimits{.max_bytes = 1 << 20};

void put(std::string& out, uint64_t number, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(number >> (8 * i)));
}

// The owner is the empty one, so that a header need not spell it.
std::string sealed_with(std::string_view header, std::string body) {
  std::string out = "HFCOPY\r\n";
  put(out, 1, 4);
  put(out, header.size(), 4);
  out.append(header);
  out.append(reinterpret_cast<const char*>(kNonce.data()), kNonce.size());
  put(out, body.size(), 8);
  const std::string context = out;
  std::array<uint8_t, kCopyTagBytes> tag{};
  seal_in_place(kSecret, kNonce, context, {reinterpret_cast<uint8_t*>(body.data()), body.size()},
                tag);
  out += body;
  out.append(reinterpret_cast<const char*>(tag.data()), tag.size());
  return out;
}

void reseal(const OpenedCopy& opened) {
  ToSeal again{.owner = {}, .saved = opened.saved, .kinds = {}};
  for (const OpenedKind& kind : opened.kinds) {
    KindToSeal& to = again.kinds.emplace_back(KindToSeal{.kind = kind.kind,
                                                         .with_secrets = kind.with_secrets,
                                                         .generation = kind.generation,
                                                         .revision = kind.revision,
                                                         .newest = kind.newest,
                                                         .as_of = kind.as_of,
                                                         .items = {}});
    for (const auto& item : kind.items) to.items.push_back(item.get());
  }
  const auto sealed = seal_copy(again, kSecret, kNonce, {});
  HF_CHECK(sealed.ok(), "what was opened can be sealed");
  const auto twice = open_copy(*sealed, {}, kSecret, {});
  HF_CHECK(twice.ok(), "and opened again");
  HF_CHECK(twice->kinds.size() == opened.kinds.size(), "with the same kinds");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  (void)open_copy(bytes, {}, kSecret, kLimits);
  if (size == 0) return 0;
  const size_t header_bytes = std::min<size_t>(data[0], size - 1);
  const auto opened =
      open_copy(sealed_with(bytes.substr(1, header_bytes), bytes.substr(1 + header_bytes)), {},
                kSecret, kLimits);
  if (opened.ok()) reseal(*opened);
  return 0;
}
