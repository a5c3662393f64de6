// The JSON reader: what it takes, what it refuses, and where.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "resource/node.h"

namespace holdfast::resource {
namespace {

using testing::HasSubstr;

std::string json_reader_error_of(std::string_view text, const ParseOptions& options = {}) {
  const auto node = read_json(text, options);
  return node ? "" : std::string(to_status(node.error()).message());
}

std::string string_of(std::string_view text) {
  const auto node = read_json(text);
  return node ? node->text : "error: " + node.error().message;
}

std::string repeated(std::string_view part, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += part;
  return out;
}

TEST(JsonReader, KnowsWhereEverythingStood) {
  const auto root = read_json("{\n  \"a\": [1,\n    true],\r\n\t\"b\": null}");

  ASSERT_TRUE(root);
  const Member& a = root->members[0];
  EXPECT_EQ(a.key_at, (Position{2, 3}));
  EXPECT_EQ(a.value.at, (Position{2, 8}));
  EXPECT_EQ(a.value.items[1].at, (Position{3, 5}));
  EXPECT_EQ(a.value.items[1].text, "true");
  EXPECT_EQ(root->members[1].key_at, (Position{4, 2}));
  EXPECT_EQ(root->members[1].value.shape, Node::Shape::Null);
}

TEST(JsonReader, TellsStringsFromNumbers) {
  const auto root = read_json(R"(["1", 1, -0.5e+10])");

  ASSERT_TRUE(root);
  EXPECT_TRUE(root->items[0].quoted);
  EXPECT_FALSE(root->items[1].quoted);
  EXPECT_EQ(root->items[2].text, "-0.5e+10");
}

TEST(JsonReader, UnderstandsEveryEscape) {
  EXPECT_EQ(string_of(R"("\"\\\/\b\f\n\r\t")"), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(string_of(R"("\u0041\u00e9\u20AC")"), "Aé€");
  EXPECT_EQ(string_of(R"("\ud83d\ude00")"), "😀");
  EXPECT_EQ(string_of(R"("a\u0000b")"), std::string("a\0b", 3));
}

TEST(JsonReader, RefusesHalfASurrogatePair) {
  for (const char* bad : {R"("\ud83d")", R"("\ud83dx")", R"("\ud83d\n")", R"("\ude00")",
                          R"("\ud83d\u0041")", R"("\ud83d\ud83d")"}) {
    EXPECT_THAT(json_reader_error_of(bad), HasSubstr("half of a surrogate pair")) << bad;
  }
}

TEST(JsonReader, RefusesWhatIsNotJson) {
  for (const char* bad :
       {"",           " ",        "{",        "[",         "\"",        "{\"a\"",
        "{\"a\":",    "{\"a\":1", "[1",       "[1,",       "[1,]",      "{,}",
        "{\"a\":1,}", "{a: 1}",   "{'a': 1}", "[1 2]",     "{\"a\" 1}", "tru",
        "True",       "nul",      "NaN",      "Infinity",  "undefined", "01",
        "-",          "-a",       "1.",       ".5",        "1e",        "1e+",
        "+1",         "0x1",      "--1",      "\"\\x41\"", "\"\\u12\"", "\"\\u12G4\"",
        "\"a\nb\"",   "\"a\tb\"", "1 2",      "{} {}",     "[] x",      "// c\n1",
        "/* c */ 1",  "]",        "}"}) {
    EXPECT_NE(json_reader_error_of(bad), "") << bad;
  }
}

TEST(JsonReader, RefusesAKeyGivenTwice) {
  EXPECT_EQ(json_reader_error_of("{\"a\": 1,\n \"b\": 2, \"a\": 3}"),
            "2:10: the key \"a\" is given twice; keep one");
  EXPECT_THAT(json_reader_error_of(R"({"a": 1, "\u0061": 2})"), HasSubstr("given twice"));
}

TEST(JsonReader, BoundsDepthWithoutDependingOnTheStack) {
  EXPECT_EQ(json_reader_error_of(repeated("[", 32) + repeated("]", 32)), "");
  EXPECT_EQ(json_reader_error_of(repeated("[", 33) + repeated("]", 33)),
            "1:33: nested more than 32 levels deep");
  EXPECT_THAT(json_reader_error_of(repeated("[", 10'000)),
              HasSubstr("nested more than 32 levels deep"));
  EXPECT_THAT(json_reader_error_of(repeated("{\"a\":", 10'000)),
              HasSubstr("nested more than 32 levels deep"));
}

TEST(JsonReader, BoundsTheNumberOfValues) {
  EXPECT_EQ(json_reader_error_of("[1,1,1]", {.max_nodes = 4}), "");
  EXPECT_THAT(json_reader_error_of("[1,1,1]", {.max_nodes = 3}), HasSubstr("more than 3 values"));
}

TEST(JsonReader, RefusesAHugeTextBySizeAlone) {
  const std::string huge(100 << 20, '[');

  EXPECT_EQ(json_reader_error_of(huge),
            "1:1: the input is 104857600 bytes long; use at most 4194304");
  EXPECT_THAT(json_reader_error_of(std::string(2 << 20, ' ')),
              HasSubstr("the document is 2097152 bytes long"));
}

TEST(JsonReader, RefusesBytesThatAreNotText) {
  EXPECT_EQ(json_reader_error_of("{\"a\":\n \"b\xff\"}"),
            "2:4: byte 0xff is not UTF-8; save the text as UTF-8");
  EXPECT_THAT(json_reader_error_of("\"\xc0\xaf\""), HasSubstr("not UTF-8"));
  EXPECT_THAT(json_reader_error_of("\"\xed\xa0\x80\""), HasSubstr("not UTF-8"));
  EXPECT_THAT(json_reader_error_of(std::string("\"a\0b\"", 5)),
              HasSubstr("1:3: the text holds a NUL"));
}

TEST(JsonReader, PassesOverAByteOrderMark) {
  EXPECT_EQ(string_of("\xef\xbb\xbf\"a\""), "a");
  EXPECT_NE(json_reader_error_of("\xef\xbb\xbf\xef\xbb\xbf\"a\""), "");
}

TEST(JsonReader, EveryTruncationOfADocumentIsAnError) {
  const std::string whole =
      R"({"kind": "service", "spec": {"ports": [{"port": 80, "x": "\u00e9"}]}})";

  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_NE(json_reader_error_of(whole.substr(0, length)), "") << length;
  }
}

}  // namespace
}  // namespace holdfast::resource
