#include "identity/token.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/reason.h"
#include "identity/wire_time.h"
#include "resource/registry.h"

namespace holdfast::identity {
namespace {

using absl::StatusCode;
using std::chrono::minutes;

constexpr WallTime kTokenNow(std::chrono::milliseconds(1'700'000'000'000));

std::array<uint8_t, 20> bytes_from(uint8_t first) {
  std::array<uint8_t, 20> bytes{};
  std::iota(bytes.begin(), bytes.end(), first);
  return bytes;
}

v1::Resource stored(const TokenText& text) {
  v1::Resource token = resource::make_resource(resource::Kind::Token, text.id);
  token.mutable_token()->set_role(v1::NODE_ROLE_AGENT);
  token.mutable_token()->set_hash(hash_token(text.text));
  token.mutable_token()->set_uses_left(1);
  *token.mutable_metadata()->mutable_expires() = to_wire(kTokenNow + minutes(30));
  return token;
}

TEST(Token, HasAnIdAndASecret) {
  const TokenText token = make_token(bytes_from(0));

  EXPECT_EQ(token.id, "aaaqeaye");
  EXPECT_EQ(token.text, "hf_aaaqeaye_audaocajbifqydiob4ibceqt");
}

TEST(Token, EveryRandomByteCounts) {
  const TokenText token = make_token(bytes_from(0));
  for (size_t i = 0; i < 20; ++i) {
    std::array<uint8_t, 20> other = bytes_from(0);
    other[i] ^= 1;
    EXPECT_NE(make_token(other).text, token.text) << i;
    EXPECT_EQ(make_token(other).id != token.id, i < 5) << i;
  }
}

TEST(Token, ReadsBackWithWhiteSpaceAround) {
  const TokenText token = make_token(bytes_from(100));

  const TokenText read = parse_token(" \t" + token.text + "\r\n").value();

  EXPECT_EQ(read.id, token.id);
  EXPECT_EQ(read.text, token.text);
}

TEST(Token, WhatDoesNotLookLikeOneIsRefused) {
  const std::string good = make_token(bytes_from(7)).text;
  std::string upper = good;
  upper[5] = 'A';
  const std::string wrong[] = {"",
                               " \n",
                               "hf_",
                               good + "a",
                               good.substr(1),
                               "x" + good,
                               upper,
                               good + "\n" + good,
                               "hf-" + good.substr(3),
                               std::string(36, '_'),
                               std::string(100'000, 'a'),
                               good.substr(0, 35) + '\0'};
  for (const std::string& text : wrong) {
    const Status status = parse_token(text).status();
    EXPECT_EQ(status.code(), StatusCode::kUnauthenticated) << text;
    EXPECT_EQ(split_reason(status).code, "HF5005");
  }
}

struct CheckCase {
  std::string_view what;
  void (*change)(v1::Resource& token, TokenText& shown, JoinAs& asked);
  StatusCode status;
  std::string_view code;
};

TEST(Token, IsCheckedAgainstWhatIsStored) {
  using R = v1::Resource;
  using T = TokenText;
  using J = JoinAs;
  const CheckCase cases[] = {
      {"another secret", [](R&, T& s, J&) { s.text.back() = s.text.back() == 'a' ? 'b' : 'a'; },
       StatusCode::kUnauthenticated, "HF5005"},
      {"no hash stored", [](R& t, T&, J&) { t.mutable_token()->clear_hash(); },
       StatusCode::kUnauthenticated, "HF5005"},
      {"used up", [](R& t, T&, J&) { t.mutable_token()->set_uses_left(0); },
       StatusCode::kUnauthenticated, "HF5005"},
      {"expired",
       [](R& t, T&, J&) { *t.mutable_metadata()->mutable_expires() = to_wire(kTokenNow); },
       StatusCode::kUnauthenticated, "HF5006"},
      {"expired, but with another secret",
       [](R& t, T& s, J&) {
         *t.mutable_metadata()->mutable_expires() = to_wire(kTokenNow);
         s.text.back() = s.text.back() == 'a' ? 'b' : 'a';
       },
       StatusCode::kUnauthenticated, "HF5005"},
      {"for another name", [](R& t, T&, J&) { t.mutable_token()->set_node_name("edge-08"); },
       StatusCode::kPermissionDenied, "HF5007"},
      {"for another zone", [](R& t, T&, J&) { t.mutable_token()->set_zone("b"); },
       StatusCode::kPermissionDenied, "HF5007"},
      {"no name", [](R&, T&, J& j) { j.name.clear(); }, StatusCode::kInvalidArgument, ""},
      {"not a name", [](R&, T&, J& j) { j.name = "../x"; }, StatusCode::kInvalidArgument, ""},
      {"not a zone", [](R&, T&, J& j) { j.zone = "a?b"; }, StatusCode::kInvalidArgument, ""},
  };
  for (const CheckCase& each : cases) {
    TokenText shown = make_token(bytes_from(7));
    v1::Resource token = stored(shown);
    JoinAs asked{.name = "edge-07", .zone = "a"};
    each.change(token, shown, asked);

    const Status status = check_token(token, shown, asked, kTokenNow).status();

    EXPECT_EQ(status.code(), each.status) << each.what;
    EXPECT_EQ(split_reason(status).code, each.code) << each.what;
  }
}

TEST(Token, GivesTheNameAndZoneItFixes) {
  const TokenText text = make_token(bytes_from(7));
  v1::Resource token = stored(text);
  token.mutable_token()->set_node_name("edge-07");
  token.mutable_token()->set_zone("a");

  for (const JoinAs& asked : {JoinAs{"", ""}, JoinAs{"edge-07", "a"}}) {
    const JoinAs as = check_token(token, text, asked, kTokenNow).value();
    EXPECT_EQ(as.name, "edge-07");
    EXPECT_EQ(as.zone, "a");
  }
}

TEST(Token, OtherwiseTheNodeChooses) {
  const TokenText text = make_token(bytes_from(7));

  const JoinAs as = check_token(stored(text), text, {"edge-07", ""}, kTokenNow).value();

  EXPECT_EQ(as.name, "edge-07");
  EXPECT_EQ(as.zone, "");
}

TEST(Token, TheHashIsSha256OfAllOfIt) {
  const std::string hash = hash_token("abc");

  EXPECT_EQ(hash.size(), 32u);
  EXPECT_EQ(hash.substr(0, 4), "\xba\x78\x16\xbf");
}

}  // namespace
}  // namespace holdfast::identity
