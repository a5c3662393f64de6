// The YAML reader: what it takes, what it refuses, and where.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "resource/node.h"

namespace holdfast::resource {
namespace {

using testing::HasSubstr;

std::string yaml_reader_error_of(std::string_view text, const ParseOptions& options = {}) {
  const auto documents = read_yaml(text, options);
  return documents ? "" : std::string(to_status(documents.error()).message());
}

// The value of the key `a` in the only document.
Node value_of(std::string_view text) {
  const auto documents = read_yaml(text);
  if (!documents) return Node::scalar("error: " + documents.error().message, true);
  const Node* value = documents->size() == 1 ? find_member(documents->front(), "a") : nullptr;
  return value != nullptr ? *value : Node::scalar("error: no such key", true);
}

std::string yaml_reader_repeated(std::string_view part, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += part;
  return out;
}

TEST(YamlReader, KnowsWhereEverythingStood) {
  const auto documents = read_yaml("# c\n---\na:\n  - b\n  - {c: d}\n---\nx: y\n");

  ASSERT_TRUE(documents);
  ASSERT_EQ(documents->size(), 2u);
  const Member& a = documents->at(0).members[0];
  EXPECT_EQ(a.key_at, (Position{3, 1}));
  EXPECT_EQ(a.value.items[0].at, (Position{4, 5}));
  EXPECT_EQ(a.value.items[1].members[0].key_at, (Position{5, 6}));
  EXPECT_EQ(documents->at(1).members[0].value.at, (Position{7, 4}));
}

TEST(YamlReader, TellsPlainScalarsFromText) {
  EXPECT_FALSE(value_of("a: 1.10").quoted);
  EXPECT_EQ(value_of("a: 1.10").text, "1.10");
  EXPECT_TRUE(value_of("a: '1.10'").quoted);
  EXPECT_TRUE(value_of("a: \"x\"").quoted);
  EXPECT_TRUE(value_of("a: |\n  x\n").quoted);
  EXPECT_TRUE(value_of("a: !!str 5").quoted);
  EXPECT_FALSE(value_of("a: !!int 5").quoted);
}

TEST(YamlReader, NullIsNotText) {
  for (const char* text : {"a:", "a: ~", "a: null", "a: Null", "{a: }"}) {
    EXPECT_EQ(value_of(text).shape, Node::Shape::Null) << text;
  }
  EXPECT_EQ(value_of("a: 'null'").text, "null");
  EXPECT_EQ(value_of("a: ''").shape, Node::Shape::Scalar);
}

TEST(YamlReader, KeepsTheLineEndOfABlock) {
  EXPECT_EQ(value_of("a: |\n  one\n  two\n").text, "one\ntwo\n");
  EXPECT_EQ(value_of("a: |\n  one").text, "one");
  EXPECT_EQ(value_of("a: |-\n  one\n\n").text, "one");
  EXPECT_EQ(value_of("a: |+\n  one\n\n").text, "one\n\n");
  EXPECT_EQ(value_of("a: >\n  one\n  two\n").text, "one two\n");
}

TEST(YamlReader, LeavesOutEmptyDocuments) {
  EXPECT_EQ(read_yaml("")->size(), 0u);
  EXPECT_EQ(read_yaml("# nothing\n\n")->size(), 0u);
  EXPECT_EQ(read_yaml("---\n---\na: b\n---\n# c\n---\n...\n")->size(), 1u);
  EXPECT_EQ(read_yaml("a: b\n...\nc: d\n")->size(), 2u);
}

TEST(YamlReader, RefusesAnchorsAndAliases) {
  EXPECT_THAT(yaml_reader_error_of("a: &x [1]\nb: [*x, *x]\n"), HasSubstr("1:4: anchors (&name)"));
  EXPECT_THAT(yaml_reader_error_of("&x a: b"), HasSubstr("anchors"));
  EXPECT_THAT(yaml_reader_error_of("a: &x\n"), HasSubstr("anchors"));
  EXPECT_NE(yaml_reader_error_of("a: *x\n"), "");

  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 20; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before + ", " + before +
            "]\n";
  }
  EXPECT_THAT(yaml_reader_error_of(bomb), HasSubstr("anchors"));
}

TEST(YamlReader, RefusesForeignTagsAndDirectives) {
  EXPECT_THAT(yaml_reader_error_of("a: !!python/object:os.system x"), HasSubstr("1:4: the tag"));
  EXPECT_THAT(yaml_reader_error_of("a: !mine x"), HasSubstr("the tag"));
  EXPECT_THAT(yaml_reader_error_of("!mine\na: x"), HasSubstr("the tag"));
  EXPECT_THAT(yaml_reader_error_of("a: !!seq {}"), HasSubstr("does not fit"));
  EXPECT_THAT(yaml_reader_error_of("a: !!binary aGk="), HasSubstr("the tag"));
  EXPECT_THAT(yaml_reader_error_of("%YAML 1.2\n---\na: b\n"), HasSubstr("1:1: directives"));
}

TEST(YamlReader, RefusesKeysThatAreNotText) {
  for (const char* bad : {"? [a]\n: b\n", "{[a]: b}", "{{a: b}: c}", "~: b", "? {a: b}\n: c\n"}) {
    EXPECT_THAT(yaml_reader_error_of(bad), HasSubstr("a key must be text")) << bad;
  }
}

TEST(YamlReader, RefusesAKeyGivenTwice) {
  EXPECT_EQ(yaml_reader_error_of("a: 1\nb:\n  c: 1\n  c: 2\n"),
            "4:3: the key \"c\" is given twice; keep one");
  EXPECT_THAT(yaml_reader_error_of("{a: 1, \"a\": 2}"), HasSubstr("given twice"));
}

TEST(YamlReader, RefusesTextAfterTheDocument) {
  for (const char* bad : {"{a: b} {c: d}", "[a] b", "'a' 'b'", "a: b\n... c\n"}) {
    EXPECT_NE(yaml_reader_error_of(bad), "") << bad;
  }
}

TEST(YamlReader, BoundsDepthInEveryStyle) {
  std::string block;
  for (size_t i = 0; i < 200; ++i) block += std::string(i, ' ') + "a:\n";

  EXPECT_EQ(yaml_reader_error_of(yaml_reader_repeated("[", 32) + yaml_reader_repeated("]", 32)),
            "");
  EXPECT_THAT(yaml_reader_error_of(yaml_reader_repeated("[", 33) + yaml_reader_repeated("]", 33)),
              HasSubstr("nested more than 32"));
  EXPECT_THAT(yaml_reader_error_of(yaml_reader_repeated("[", 10'000)),
              HasSubstr("nested more than 32"));
  EXPECT_THAT(
      yaml_reader_error_of(yaml_reader_repeated("[", 10'000) + yaml_reader_repeated("]", 10'000)),
      HasSubstr("nested more than"));
  EXPECT_THAT(yaml_reader_error_of(yaml_reader_repeated("{a: ", 10'000)),
              HasSubstr("nested more than 32"));
  EXPECT_THAT(yaml_reader_error_of(yaml_reader_repeated("- ", 10'000) + "x\n"),
              HasSubstr("nested more than 32"));
  EXPECT_THAT(yaml_reader_error_of(yaml_reader_repeated("? ", 10'000) + "x\n"),
              HasSubstr("nested too deep"));
  EXPECT_THAT(yaml_reader_error_of(block), HasSubstr("nested more than 32"));
}

TEST(YamlReader, BoundsValuesDocumentsAndBytes) {
  EXPECT_EQ(yaml_reader_error_of("[1, 1, 1]", {.max_nodes = 4}), "");
  EXPECT_THAT(yaml_reader_error_of("[1, 1, 1]", {.max_nodes = 3}), HasSubstr("more than 3 values"));
  EXPECT_THAT(yaml_reader_error_of("a: b\n---\nc: d\n", {.max_nodes = 3}),
              HasSubstr("more than 3 values"));
  EXPECT_THAT(yaml_reader_error_of("a: b\n---\nc: d\n", {.max_documents = 1}),
              HasSubstr("more than 1 documents"));
  EXPECT_THAT(yaml_reader_error_of(yaml_reader_repeated("---\n", 1 << 20)),
              HasSubstr("more than 10000 documents"));
  EXPECT_EQ(yaml_reader_error_of("a: b\n---\nc: d\n", {.max_document_bytes = 9}), "");
  EXPECT_EQ(yaml_reader_error_of("a: b\n---\nc: d\n", {.max_document_bytes = 8}),
            "2:1: the document is 9 bytes long; use at most 8");
}

TEST(YamlReader, RefusesAHugeTextBySizeAlone) {
  const std::string huge(100 << 20, '[');

  EXPECT_EQ(yaml_reader_error_of(huge),
            "1:1: the input is 104857600 bytes long; use at most 4194304");
}

TEST(YamlReader, RefusesBytesThatAreNotText) {
  EXPECT_EQ(yaml_reader_error_of("a: b\nc: \xff\n"),
            "2:4: byte 0xff is not UTF-8; save the text as UTF-8");
  EXPECT_THAT(yaml_reader_error_of(std::string("a: b\0c", 6)),
              HasSubstr("1:5: the text holds a NUL"));
  EXPECT_THAT(yaml_reader_error_of("a: b\n\x04"
                                   "c: d\n"),
              HasSubstr("2:1: control character 0x04"));
  EXPECT_THAT(yaml_reader_error_of("a: \x1b[31m\n"), HasSubstr("control character 0x1b"));
  EXPECT_NE(yaml_reader_error_of(std::string("\xff\xfe"
                                             "a\0:\0",
                                             6)),
            "");
  EXPECT_THAT(yaml_reader_error_of("a: \"\\_\"\n"), HasSubstr("an escape"));
}

TEST(YamlReader, TakesEveryLineEndButALoneCarriageReturn) {
  EXPECT_EQ(value_of("x: y\r\na: b\r\n").text, "b");
  EXPECT_EQ(value_of("x: y\r\na: b\r\n").at, (Position{2, 4}));
  EXPECT_THAT(yaml_reader_error_of("a: b\rc: d\r"), HasSubstr("1:5: a carriage return without"));
}

TEST(YamlReader, TakesTabsOnlyWhereTheyAreNoIndent) {
  EXPECT_EQ(value_of("a:\tb").text, "b");
  EXPECT_NE(yaml_reader_error_of("a:\n\tb: c\n"), "");
}

TEST(YamlReader, PassesOverAByteOrderMark) {
  EXPECT_EQ(value_of("\xef\xbb\xbf"
                     "a: b")
                .text,
            "b");
}

TEST(YamlReader, RefusesTextThatEndsTooSoon) {
  for (const char* bad :
       {"a: \"b", "a: \"b\n", "a: \"b\n  ", "a: \"b\n\n", "a: 'b\n", "a: \"b\n---\nc: d\n", "a: [b",
        "a: [b\n", "a: {b: c", "{", "[a, {b: c}", "a: \"\\", "a: \"\\u00"}) {
    EXPECT_NE(yaml_reader_error_of(bad), "") << bad;
  }
  EXPECT_THAT(yaml_reader_error_of("[a, b\n"), HasSubstr("end of sequence flow not found"));
}

}  // namespace
}  // namespace holdfast::resource
