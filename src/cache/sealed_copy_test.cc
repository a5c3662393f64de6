#include "cache/sealed_copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/reason.h"
#include "cache/copy_cipher.h"
#include "holdfast/v1/cache_copy.pb.h"
#include "resource/registry.h"

namespace holdfast::cache {
namespace {

using resource::Kind;

constexpr CopySecret kSecret{1, 2, 3};
constexpr CopyNonce kNonce{9, 8, 7};
const CopyOwner kOwner{.schema = "1.0", .cluster = "demo", .node = "edge-1"};

v1::Resource agent(std::string_view name) {
  v1::Resource made = resource::make_resource(Kind::Agent, name);
  made.set_kind("agent");
  made.mutable_agent()->set_zone("a");
  return made;
}

struct Sample {
  v1::Resource first = agent("edge-1");
  v1::Resource second = agent("edge-2");
  v1::Resource web = resource::make_resource(Kind::Service, "web");
  ToSeal to_seal() const {
    return {.owner = kOwner,
            .saved = WallTime(std::chrono::milliseconds(5'000)),
            .kinds = {{.kind = Kind::Agent,
                       .with_secrets = true,
                       .generation = 3,
                       .revision = 40,
                       .newest = 44,
                       .as_of = WallTime(std::chrono::milliseconds(4'000)),
                       .items = {&first, &second}},
                      {.kind = Kind::Service, .generation = 1, .revision = 38, .items = {&web}},
                      {.kind = Kind::Proxy, .generation = 2, .revision = 39, .items = {}}}};
  }
  std::string sealed() const { return seal_copy(to_seal(), kSecret, kNonce, {}).value(); }
};

Status open_status(std::string sealed) {
  return open_copy(std::move(sealed), kOwner, kSecret, {}).status();
}

// A copy with this header and body, sealed as a copy is: what only a bug or another version makes.
std::string sealed_with(const v1::CacheCopyHeader& header, std::string_view body) {
  const std::string text = header.SerializeAsString();
  std::string out = "HFCOPY\r\n";
  const auto number = [&out](uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
  };
  number(1, 4);
  number(text.size(), 4);
  out += text;
  out.append(reinterpret_cast<const char*>(kNonce.data()), kNonce.size());
  number(body.size(), 8);
  const std::string context = out;
  std::vector<uint8_t> bytes(body.begin(), body.end());
  std::array<uint8_t, kCopyTagBytes> tag{};
  seal_in_place(kSecret, kNonce, context, bytes, tag);
  out.append(bytes.begin(), bytes.end());
  out.append(tag.begin(), tag.end());
  return out;
}

v1::CacheCopyHeader header_for(std::string_view kind, uint64_t items, uint64_t size_bytes) {
  v1::CacheCopyHeader header;
  header.set_schema(kOwner.schema);
  header.set_cluster(kOwner.cluster);
  header.set_node(kOwner.node);
  v1::CacheCopyKind& row = *header.add_kinds();
  row.set_kind(std::string(kind));
  row.set_items(items);
  row.set_size_bytes(size_bytes);
  return header;
}

TEST(SealedCopy, OpensAsItWasSealed) {
  const Sample sample;

  const OpenedCopy opened = open_copy(sample.sealed(), kOwner, kSecret, {}).value();

  EXPECT_EQ(opened.saved, WallTime(std::chrono::milliseconds(5'000)));
  ASSERT_EQ(opened.kinds.size(), 3u);
  EXPECT_EQ(opened.kinds[0].kind, Kind::Agent);
  EXPECT_TRUE(opened.kinds[0].with_secrets);
  EXPECT_FALSE(opened.kinds[1].with_secrets);
  EXPECT_EQ(opened.kinds[0].generation, 3u);
  EXPECT_EQ(opened.kinds[0].revision, 40);
  EXPECT_EQ(opened.kinds[0].newest, 44);
  EXPECT_EQ(opened.kinds[0].as_of, WallTime(std::chrono::milliseconds(4'000)));
  ASSERT_EQ(opened.kinds[0].items.size(), 2u);
  EXPECT_EQ(opened.kinds[0].items[1]->SerializeAsString(), sample.second.SerializeAsString());
  EXPECT_EQ(opened.kinds[1].items.size(), 1u);
  EXPECT_EQ(opened.kinds[2].kind, Kind::Proxy) << "an empty kind is known to be empty";
  EXPECT_EQ(opened.skipped, 0u);
}

TEST(SealedCopy, ShowsNothingOfItsResources) {
  const Sample sample;

  const std::string sealed = sample.sealed();

  EXPECT_EQ(sealed.find("edge-2"), std::string::npos);
  EXPECT_NE(sealed.find("demo"), std::string::npos) << "whose it is may be read";
}

TEST(SealedCopy, AnyByteThatChangesIsRefused) {
  const std::string sealed = Sample().sealed();
  for (size_t i = 0; i < sealed.size(); ++i) {
    for (const int flip : {0x01, 0x80, 0xff}) {
      std::string changed = sealed;
      changed[i] = static_cast<char>(changed[i] ^ flip);

      EXPECT_FALSE(open_status(std::move(changed)).ok()) << "byte " << i << " flipped by " << flip;
    }
  }
}

TEST(SealedCopy, AnyLengthButItsOwnIsRefused) {
  const std::string sealed = Sample().sealed();
  for (size_t length = 0; length < sealed.size(); ++length) {
    EXPECT_EQ(open_status(sealed.substr(0, length)).code(), absl::StatusCode::kDataLoss) << length;
  }
  EXPECT_EQ(open_status(sealed + "x").code(), absl::StatusCode::kDataLoss);
}

TEST(SealedCopy, SaysWhyItIsNotThisNodes) {
  const std::string sealed = Sample().sealed();
  const auto why = [&](const CopyOwner& owner) {
    return open_copy(sealed, owner, kSecret, {}).status();
  };

  const Status version = why({.schema = "2.0", .cluster = "demo", .node = "edge-1"});
  const Status cluster = why({.schema = "1.0", .cluster = "other", .node = "edge-1"});
  const Status node = why({.schema = "1.0", .cluster = "demo", .node = "edge-2"});

  for (const Status& status : {version, cluster, node}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_EQ(split_reason(status).code, "HF1252");
  }
  EXPECT_THAT(version.message(), testing::HasSubstr("version \"1.0\" wrote it"));
  EXPECT_THAT(cluster.message(), testing::HasSubstr("cluster \"demo\""));
  EXPECT_THAT(node.message(), testing::HasSubstr("node \"edge-1\""));
}

TEST(SealedCopy, AnotherSecretOpensNothing) {
  CopySecret other = kSecret;
  other[31] ^= 1;

  const Status status = open_copy(Sample().sealed(), kOwner, other, {}).status();

  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(split_reason(status).code, "HF1251");
  EXPECT_THAT(status.message(), testing::HasSubstr("sealed with another key"));
}

TEST(SealedCopy, ANewerFormatIsRefusedBeforeAnythingIsReadOfIt) {
  std::string sealed = Sample().sealed();
  sealed[8] = 2;

  const Status status = open_status(sealed.substr(0, 12));

  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), testing::HasSubstr("its format is 2, this version reads 1"));
}

TEST(SealedCopy, LimitsHoldBothWays) {
  const Sample sample;
  const std::string sealed = sample.sealed();
  const CopyLimits exact{.max_bytes = sealed.size()};
  const CopyLimits less{.max_bytes = sealed.size() - 1};
  const CopyLimits small_header{.max_header_bytes = 10};

  EXPECT_TRUE(open_copy(sealed, kOwner, kSecret, exact).ok());
  EXPECT_TRUE(seal_copy(sample.to_seal(), kSecret, kNonce, exact).ok());
  for (const CopyLimits& limits : {less, small_header}) {
    EXPECT_EQ(open_copy(sealed, kOwner, kSecret, limits).status().code(),
              absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(seal_copy(sample.to_seal(), kSecret, kNonce, limits).status().code(),
              absl::StatusCode::kResourceExhausted);
  }
}

TEST(SealedCopy, KindsItDoesNotKnowAreSkipped) {
  v1::CacheCopyHeader header = header_for("starship", 2, 7);
  v1::CacheCopyKind& known = *header.add_kinds();
  known.set_kind("agent");
  known.set_items(1);
  const std::string record = agent("edge-1").SerializeAsString();
  known.set_size_bytes(1 + record.size());
  const std::string body = "unknown" + std::string(1, static_cast<char>(record.size())) + record;

  const Result<OpenedCopy> opened =
      open_copy(sealed_with(header, body), kOwner, kSecret, CopyLimits{});

  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->skipped, 2u);
  ASSERT_EQ(opened->kinds.size(), 1u);
  EXPECT_EQ(opened->kinds[0].items[0]->metadata().name(), "edge-1");
}

TEST(SealedCopy, ABodyThatContradictsItsHeaderIsRefused) {
  const std::string record = agent("edge-1").SerializeAsString();
  const std::string body = std::string(1, static_cast<char>(record.size())) + record;
  v1::CacheCopyHeader twice = header_for("agent", 1, body.size());
  *twice.add_kinds() = twice.kinds(0);
  const std::pair<std::string_view, std::string> cases[] = {
      {"more items than there are", sealed_with(header_for("agent", 2, body.size()), body)},
      {"fewer items than there are", sealed_with(header_for("agent", 0, body.size()), body)},
      {"more bytes than there are", sealed_with(header_for("agent", 1, body.size() + 1), body)},
      {"fewer bytes than there are", sealed_with(header_for("agent", 1, body.size() - 1), body)},
      {"of another kind", sealed_with(header_for("proxy", 1, body.size()), body)},
      {"a kind twice", sealed_with(twice, body + body)},
      {"a size that never ends", sealed_with(header_for("agent", 1, 2), "\x80\x80")},
      {"a nameless resource", sealed_with(header_for("agent", 1, 1), std::string(1, '\0'))},
  };
  for (const auto& [what, sealed] : cases) {
    EXPECT_EQ(open_status(sealed).code(), absl::StatusCode::kDataLoss) << what;
  }
}

TEST(SealedCopy, BigCopiesHaveRoomForNothingButThemselves) {
  std::vector<v1::Resource> agents;
  for (int i = 0; i < 20'000; ++i) agents.push_back(agent("edge-" + std::to_string(i)));
  ToSeal copy{.owner = kOwner, .kinds = {{.kind = Kind::Agent}}};
  for (const v1::Resource& one : agents) copy.kinds[0].items.push_back(&one);

  const std::string sealed = seal_copy(copy, kSecret, kNonce, {}).value();
  const OpenedCopy opened = open_copy(sealed, kOwner, kSecret, {}).value();

  EXPECT_EQ(sealed.capacity(), sealed.size()) << "made once, at its size";
  EXPECT_EQ(opened.kinds.at(0).items.size(), agents.size());
}

}  // namespace
}  // namespace holdfast::cache
