#include "cache/sealed_copy.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <span>

#include "base/bytes.h"
#include "base/check.h"
#include "base/reason.h"
#include "cache/copy_cipher.h"
#include "holdfast/v1/cache_copy.pb.h"
#include "resource/proto_time.h"
#include "resource/registry.h"

namespace holdfast::cache {
namespace {

using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;

constexpr std::string_view kMagic = "HFCOPY\r\n";
constexpr uint32_t kFormat = 1;

Status damaged(std::string_view why) {
  return coded(absl::StatusCode::kDataLoss, "HF1251",
               fmt::format("the cache's copy on disk is damaged: {}", why));
}
Status not_ours(std::string_view why) {
  return coded(absl::StatusCode::kFailedPrecondition, "HF1252",
               fmt::format("the cache's copy on disk is not this node's: {}", why));
}
Status too_large(size_t bytes, size_t limit) {
  return coded(absl::StatusCode::kResourceExhausted, "HF1253",
               fmt::format("the cache's copy has {} bytes, at most {} are allowed", bytes, limit));
}

template <typename Number>
void put_number(std::string& out, Number number) {
  for (size_t i = 0; i < sizeof(Number); ++i) {
    out.push_back(static_cast<char>(static_cast<uint8_t>(number >> (8 * i))));
  }
}

std::span<uint8_t> copied_bytes(std::string& text, size_t from, size_t count) {
  return std::span(reinterpret_cast<uint8_t*>(text.data()), text.size()).subspan(from, count);
}

size_t record_bytes(const v1::Resource& resource) {
  const size_t size = resource.ByteSizeLong();
  return CodedOutputStream::VarintSize32(static_cast<uint32_t>(size)) + size;
}

v1::CacheCopyHeader header_of(const ToSeal& copy) {
  v1::CacheCopyHeader header;
  header.set_schema(copy.owner.schema);
  header.set_cluster(copy.owner.cluster);
  header.set_node(copy.owner.node);
  *header.mutable_saved() = resource::to_proto(copy.saved);
  for (const KindToSeal& kind : copy.kinds) {
    v1::CacheCopyKind& row = *header.add_kinds();
    row.set_kind(std::string(resource::info(kind.kind).name));
    row.set_with_secrets(kind.with_secrets);
    row.set_generation(kind.generation);
    row.set_revision(kind.revision);
    row.set_newest(kind.newest);
    *row.mutable_as_of() = resource::to_proto(kind.as_of);
    row.set_items(kind.items.size());
    size_t size_bytes = 0;
    for (const v1::Resource* item : kind.items) size_bytes += record_bytes(*item);
    row.set_size_bytes(size_bytes);
  }
  return header;
}

// Takes parts from the front; refuses what is not there.
class Parts {
 public:
  explicit Parts(std::string_view rest) : rest_(rest) {}

  Result<std::string_view> take(size_t count) {
    if (count > rest_.size()) return damaged("it is cut short");
    const std::string_view part = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return part;
  }
  template <typename Number>
  Result<Number> take_number() {
    TRY(const std::string_view part, take(sizeof(Number)));
    Number number = 0;
    for (size_t i = sizeof(Number); i-- > 0;) {
      number = static_cast<Number>(number << 8) | static_cast<uint8_t>(part[i]);
    }
    return number;
  }
  size_t left() const { return rest_.size(); }

 private:
  std::string_view rest_;
};

struct Layout {
  v1::CacheCopyHeader header;
  CopyNonce nonce{};
  size_t body_at = 0;  // all before it is authenticated
  size_t body_bytes = 0;
};

Status check_owner(const v1::CacheCopyHeader& header, const CopyOwner& owner) {
  if (header.schema() != owner.schema) {
    return not_ours(fmt::format("version {} wrote it, this is {}", in_quotes(header.schema()),
                                in_quotes(owner.schema)));
  }
  if (header.cluster() != owner.cluster) {
    return not_ours(fmt::format("it is of cluster {}", in_quotes(header.cluster())));
  }
  if (header.node() != owner.node) {
    return not_ours(fmt::format("it is of node {}", in_quotes(header.node())));
  }
  return absl::OkStatus();
}

Result<Layout> read_layout(std::string_view sealed, const CopyOwner& owner,
                           const CopyLimits& limits) {
  Parts parts(sealed);
  TRY(const std::string_view magic, parts.take(kMagic.size()));
  if (magic != kMagic) return damaged("it does not begin as a copy does");
  TRY(const uint32_t format, parts.take_number<uint32_t>());
  if (format != kFormat) {
    return not_ours(fmt::format("its format is {}, this version reads {}", format, kFormat));
  }
  TRY(const uint32_t header_bytes, parts.take_number<uint32_t>());
  if (header_bytes > limits.max_header_bytes) {
    return too_large(header_bytes, limits.max_header_bytes);
  }
  TRY(const std::string_view header, parts.take(header_bytes));
  Layout layout;
  if (!layout.header.ParseFromArray(header.data(), static_cast<int>(header.size()))) {
    return damaged("its header cannot be read");
  }
  TRY_OK(check_owner(layout.header, owner));
  TRY(const std::string_view nonce, parts.take(layout.nonce.size()));
  std::ranges::copy(nonce, layout.nonce.begin());
  TRY(const uint64_t body_bytes, parts.take_number<uint64_t>());
  layout.body_at = sealed.size() - parts.left();
  if (parts.left() < kCopyTagBytes || parts.left() - kCopyTagBytes < body_bytes) {
    return damaged("it is cut short");
  }
  if (parts.left() - kCopyTagBytes > body_bytes) return damaged("there is something after its end");
  layout.body_bytes = body_bytes;
  return layout;
}

Result<OpenedKind> read_kind(const v1::CacheCopyKind& row, resource::Kind kind,
                             std::string_view part) {
  OpenedKind opened{.kind = kind,
                    .with_secrets = row.with_secrets(),
                    .generation = row.generation(),
                    .revision = row.revision(),
                    .newest = row.newest(),
                    .as_of = resource::to_wall_time(row.as_of()),
                    .items = {}};
  // A resource has at least a byte for its size, so this is never more than the bytes there are.
  opened.items.reserve(std::min<uint64_t>(row.items(), part.size()));
  while (!part.empty()) {
    CodedInputStream input(reinterpret_cast<const uint8_t*>(part.data()),
                           static_cast<int>(std::min<size_t>(part.size(), INT32_MAX)));
    uint32_t size = 0;
    if (!input.ReadVarint32(&size)) return damaged("a resource has no size");
    part.remove_prefix(static_cast<size_t>(input.CurrentPosition()));
    if (size > part.size()) return damaged("a resource is longer than the copy");
    auto resource = std::make_shared<v1::Resource>();
    if (!resource->ParseFromArray(part.data(), static_cast<int>(size)) ||
        resource::kind_of(*resource) != kind || resource->metadata().name().empty()) {
      return damaged(fmt::format("a resource is not of kind {}", row.kind()));
    }
    part.remove_prefix(size);
    opened.items.push_back(std::move(resource));
  }
  if (opened.items.size() != row.items()) return damaged("it has fewer resources than it says");
  return opened;
}

Result<OpenedCopy> read_body(const v1::CacheCopyHeader& header, std::string_view body) {
  OpenedCopy copy{.saved = resource::to_wall_time(header.saved()), .kinds = {}, .skipped = 0};
  resource::KindSet seen;
  Parts parts(body);
  for (const v1::CacheCopyKind& row : header.kinds()) {
    TRY(const std::string_view part, parts.take(row.size_bytes()));
    const std::optional<resource::Kind> kind = resource::kind_named(row.kind());
    if (!kind) {
      copy.skipped += row.items();
      continue;
    }
    if (seen.contains(*kind)) return damaged(fmt::format("kind {} comes twice", row.kind()));
    seen.insert(*kind);
    TRY(OpenedKind opened, read_kind(row, *kind, part));
    copy.kinds.push_back(std::move(opened));
  }
  if (parts.left() != 0) return damaged("it has more resources than it says");
  return copy;
}

}  // namespace

Result<std::string> seal_copy(const ToSeal& copy, const CopySecret& secret, const CopyNonce& nonce,
                              const CopyLimits& limits) {
  const v1::CacheCopyHeader header = header_of(copy);
  size_t body_bytes = 0;
  for (const v1::CacheCopyKind& row : header.kinds()) body_bytes += row.size_bytes();
  const std::string header_text = header.SerializeAsString();
  if (header_text.size() > limits.max_header_bytes) {
    return too_large(header_text.size(), limits.max_header_bytes);
  }
  const size_t body_at = kMagic.size() + 8 + header_text.size() + nonce.size() + 8;
  const size_t total = body_at + body_bytes + kCopyTagBytes;
  if (total > limits.max_bytes) return too_large(total, limits.max_bytes);

  std::string out;
  out.reserve(total);
  out.append(kMagic);
  put_number(out, kFormat);
  put_number(out, static_cast<uint32_t>(header_text.size()));
  out.append(header_text);
  out.append(reinterpret_cast<const char*>(nonce.data()), nonce.size());
  put_number(out, static_cast<uint64_t>(body_bytes));
  HF_CHECK(out.size() == body_at, "the header is as long as was computed");
  out.resize(total);
  auto* at = reinterpret_cast<uint8_t*>(out.data() + body_at);
  for (const KindToSeal& kind : copy.kinds) {
    for (const v1::Resource* item : kind.items) {
      at = CodedOutputStream::WriteVarint32ToArray(static_cast<uint32_t>(item->ByteSizeLong()), at);
      at = item->SerializeWithCachedSizesToArray(at);
    }
  }
  HF_CHECK(at == copied_bytes(out, body_at, body_bytes).data() + body_bytes,
           "the body is as computed");
  const std::string context = out.substr(0, body_at);
  seal_in_place(secret, nonce, context, copied_bytes(out, body_at, body_bytes),
                copied_bytes(out, body_at + body_bytes, kCopyTagBytes).first<kCopyTagBytes>());
  return out;
}

Result<OpenedCopy> open_copy(std::string sealed, const CopyOwner& owner, const CopySecret& secret,
                             const CopyLimits& limits) {
  if (sealed.size() > limits.max_bytes) return too_large(sealed.size(), limits.max_bytes);
  TRY(const Layout layout, read_layout(sealed, owner, limits));
  const std::string context = sealed.substr(0, layout.body_at);
  const std::span<uint8_t> body = copied_bytes(sealed, layout.body_at, layout.body_bytes);
  const bool whole =
      open_in_place(secret, layout.nonce, context, body,
                    copied_bytes(sealed, layout.body_at + layout.body_bytes, kCopyTagBytes)
                        .first<kCopyTagBytes>());
  if (!whole) return damaged("it was changed, or sealed with another key");
  return read_body(layout.header,
                   std::string_view(sealed).substr(layout.body_at, layout.body_bytes));
}

}  // namespace holdfast::cache
