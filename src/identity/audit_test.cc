#include "identity/audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/bytes.h"
#include "base/rng.h"

namespace holdfast::identity {
namespace {

using testing::HasSubstr;

constexpr WallTime kNow(std::chrono::milliseconds(1'700'000'000'000));

AuditRecord record(std::string object = "service/web") {
  return {.actor = "user/alice",
          .source = "10.0.0.7:40112",
          .verb = "create",
          .object = std::move(object),
          .allowed = true};
}

std::vector<std::string> lines(int count) {
  AuditChain chain = AuditChain::resume("").value();
  std::vector<std::string> out;
  for (int i = 0; i < count; ++i) {
    out.push_back(chain.next_line(record("service/s" + std::to_string(i)), kNow));
  }
  return out;
}

std::string joined(const std::vector<std::string>& all) {
  std::string out;
  for (const std::string& line : all) out += line;
  return out;
}

TEST(Audit, ALineSaysWhoDidWhatAndWhen) {
  EXPECT_EQ(lines(1)[0],
            "{\"seq\":1,\"prev\":\"sha256:" + std::string(64, '0') +
                "\",\"ts\":\"2023-11-14T22:13:20.000Z\",\"actor\":\"user/alice\","
                "\"source\":\"10.0.0.7:40112\",\"verb\":\"create\",\"object\":\"service/s0\","
                "\"allowed\":true}\n");
}

TEST(Audit, ARefusalHasItsCodeAndCount) {
  AuditChain chain = AuditChain::resume("").value();

  const std::string line = chain.next_line({.actor = "nobody",
                                            .source = "unix",
                                            .verb = "list",
                                            .object = "",
                                            .allowed = false,
                                            .code = "HF5002",
                                            .repeated = 12},
                                           kNow);

  EXPECT_THAT(line, HasSubstr("\"allowed\":false,\"code\":\"HF5002\",\"repeated\":12}"));
  EXPECT_EQ(line.find("\"object\""), std::string::npos);
}

TEST(Audit, LinesFollowFromEachOther) {
  EXPECT_TRUE(verify_audit(joined(lines(20))).ok());
  EXPECT_TRUE(verify_audit("").ok());
}

TEST(Audit, GoesOnWhereAFileEnds) {
  std::vector<std::string> all = lines(3);
  AuditChain chain =
      AuditChain::resume(std::string_view(all[2]).substr(0, all[2].size() - 1)).value();
  EXPECT_EQ(chain.seq(), 3u);

  all.push_back(chain.next_line(record(), kNow));

  EXPECT_TRUE(verify_audit(joined(all)).ok());
  EXPECT_TRUE(verify_audit(all[2] + all[3]).ok());  // older ones moved away
}

TEST(Audit, AnyChangeShows) {
  const std::vector<std::string> all = lines(5);
  std::vector<std::string> removed = all;
  removed.erase(removed.begin() + 2);
  std::vector<std::string> swapped = all;
  std::swap(swapped[1], swapped[2]);
  std::vector<std::string> doubled = all;
  doubled.insert(doubled.begin() + 2, all[2]);

  EXPECT_THAT(verify_audit(joined(removed)).ToString(), HasSubstr("line 3 "));
  EXPECT_THAT(verify_audit(joined(swapped)).ToString(), HasSubstr("line 2 "));
  EXPECT_THAT(verify_audit(joined(doubled)).ToString(), HasSubstr("line 4 "));
  EXPECT_EQ(verify_audit(joined(removed)).code(), absl::StatusCode::kDataLoss);
}

TEST(Audit, AnyChangedByteBeforeTheLastLineShows) {
  const std::vector<std::string> all = lines(3);
  const std::string text = joined(all);
  for (size_t i = 0; i < text.size() - all[2].size(); ++i) {
    std::string changed = text;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_FALSE(verify_audit(changed).ok()) << "byte " << i;
  }
}

TEST(Audit, AHalfWrittenLineShows) {
  const std::string text = joined(lines(2));

  EXPECT_THAT(verify_audit(text.substr(0, text.size() - 1)).ToString(), HasSubstr("line 2 "));
  EXPECT_FALSE(AuditChain::resume(text.substr(0, 50)).ok());
}

TEST(Audit, WhatIsNoLineCannotBeResumed) {
  const std::string good = lines(1)[0];
  for (const std::string& text :
       {std::string("x"), std::string("{}"), good, std::string("{\"seq\":0}"),
        "{\"seq\":99999999999999999999" + good.substr(8), "{\"seq\":01" + good.substr(8),
        good.substr(0, good.size() - 2), std::string(100'000, ' ')}) {
    EXPECT_EQ(AuditChain::resume(text).status().code(), absl::StatusCode::kDataLoss) << text;
  }
}

TEST(Audit, BytesThatAreNotTextAreShownAsSuch) {
  AuditChain chain = AuditChain::resume("").value();

  const std::string line = chain.next_line(record("a\xff\"\n\x1b[31m\xc3\xa9"), kNow);

  EXPECT_THAT(line, HasSubstr("\"object\":\"a\\\\xff\\\"\\n"));
  EXPECT_THAT(line, HasSubstr("\xc3\xa9\""));
  EXPECT_EQ(line.find('\x1b'), std::string::npos);
}

TEST(Audit, LongFieldsAreCut) {
  AuditChain chain = AuditChain::resume("").value();

  const std::string line = chain.next_line(record(std::string(100'000, 'x')), kNow);
  const std::string split = chain.next_line(record(std::string(255, 'x') + "\xc3\xa9"), kNow);

  EXPECT_THAT(line, HasSubstr("\"" + std::string(256, 'x') + "…\""));
  EXPECT_THAT(split, HasSubstr("\"" + std::string(255, 'x') + "…\""));
}

TEST(Audit, AnyBytesMakeOneValidLineWithinTheLimit) {
  Rng rng(7);
  AuditChain chain = AuditChain::resume("").value();
  std::string text;
  for (int i = 0; i < 60; ++i) {
    AuditRecord any = record();
    for (std::string* field : {&any.actor, &any.source, &any.verb, &any.object, &any.code}) {
      field->clear();
      const uint64_t size = rng.below(uint64_t{400});
      const uint64_t alphabet = 1 + rng.below(uint64_t{256});
      while (field->size() < size) *field += static_cast<char>(rng.below(alphabet));
    }
    const std::string line = chain.next_line(any, kNow);
    EXPECT_LE(line.size(), kMaxAuditLineBytes);
    EXPECT_EQ(line.find('\n'), line.size() - 1);
    EXPECT_FALSE(first_invalid_utf8(line)) << i;
    text += line;
  }
  EXPECT_TRUE(verify_audit(text).ok()) << verify_audit(text);
}

}  // namespace
}  // namespace holdfast::identity
