#include "inject/manifest.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/reason.h"
#include "inject/line_diff.h"

namespace holdfast::inject {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kPod =
    "kind: Pod\nspec:\n  containers:\n  - name: a\n    livenessProbe:\n"
    "      httpGet: {path: /live, port: 80}  # why\n";

Manifest translated_manifest(std::string_view text) {
  Result<Manifest> out = translate_manifest(text, {});
  EXPECT_TRUE(out.ok()) << out.status() << "\n" << text;
  return out.ok() ? *std::move(out) : Manifest();
}

TEST(Manifest, WhatNeedsNoChangeKeepsEveryByte) {
  const char* texts[] = {
      "",
      "\n",
      "# only a comment\n",
      "---\n---\n# two\n",
      "kind: Service\nspec: {a: on, b: 'on', c: 010, d: \"010\", e: 1e3, f: ~, g: [ x,y ]}   \n\n",
      "\xef\xbb\xbfkind: Secret\r\ndata:\r\n  a: |\r\n    x\r\n    y\r\n",
      "%YAML 1.1\n---\nkind: ConfigMap\ndata:\n  s: |+\n    a\n\n...\n---\nkind: Service\n",
      "{\"kind\": \"Service\", \"n\": 1.50, \"e\": \"\\u00e9\"}\n\n{\"kind\":\"Role\"}",
      "kind: Pod\nspec: &s {containers: [{name: a}]}\nother: *s\n",
  };
  for (const char* text : texts) {
    const Manifest manifest = translated_manifest(text);
    EXPECT_EQ(manifest.text, text);
    EXPECT_EQ(manifest.changed, 0u);
  }
}

TEST(Manifest, ScalarsThatArePlainOrQuotedStaySo) {
  const std::string text = std::string(kPod) +
                           "  extra: {a: on, b: 'on', c: 010, d: \"9000\", e: 0x1F, f: 1_000}\n"
                           "  folded: >-\n    one\n    two\n  plain: a\n    b\n"
                           "  key with space: !!binary aGk=\n  ? q\n  : r\n";

  const Manifest manifest = translated_manifest(text);

  EXPECT_EQ(manifest.changed, 1u);
  const std::string tail = text.substr(text.find("  extra:"));
  EXPECT_THAT(manifest.text, HasSubstr(tail));
  EXPECT_THAT(manifest.text, HasSubstr("{path: \"/80/live\", port: 9000}  # why\n"));
}

TEST(Manifest, LinesEndAsTheyDid) {
  std::string text = kPod;
  for (size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2)
    text.insert(at, "\r");

  const Manifest manifest = translated_manifest(text);

  for (size_t at = 0; (at = manifest.text.find('\n', at)) != std::string::npos; ++at) {
    ASSERT_EQ(manifest.text[at - 1], '\r') << manifest.text.substr(0, at);
  }
}

TEST(Manifest, AnAliasThatWouldChangeWhatItSharesIsWrittenOut) {
  // The two probes differ once their timeouts do, so they cannot stay one.
  const Manifest manifest = translated_manifest(
      "kind: Pod\nspec:\n  containers:\n  - name: a\n    livenessProbe:\n"
      "      httpGet: &get {path: /live, port: 80}\n    readinessProbe:\n"
      "      httpGet: *get\n      timeoutSeconds: 5\n  other: on\n  text: 'on'\n");

  EXPECT_THAT(manifest.warnings, testing::Contains(testing::Field(&Warning::code, "HF7126")));
  EXPECT_THAT(manifest.text, HasSubstr("path: /80/live"));
  EXPECT_THAT(manifest.text, HasSubstr("path: \"/80~2/live\""));
  EXPECT_THAT(manifest.text, HasSubstr("other: on\n"));
  EXPECT_THAT(manifest.text, HasSubstr("text: \"on\"\n"));
}

TEST(Manifest, TextThatCannotBeReadIsRefusedWithItsLine) {
  const char* texts[] = {
      "kind: Pod\nspec: {a: [}\n",
      "kind: {{ .Values.kind }}\n",
      "kind: Pod\nkind: Pod\n",
      "kind: 'Pod\n",
      "kind: Pod\na: *nobody\n",
      "kind: \x01\n",
      "kind: \xff\n",
      "a: &a [*a]\nkind: Pod\n",
      "{\"kind\": \"Pod\", }",
      "kind: Pod\na:\n\t- b\n",
  };
  for (const char* text : texts) {
    const Result<Manifest> manifest = translate_manifest(text, {});
    if (manifest.ok()) {
      EXPECT_EQ(manifest->text, text);  // YAML allows a comma at the end of what is in brackets
      continue;
    }
    const std::string code(split_reason(manifest.status()).code);
    EXPECT_TRUE(code == "HF7107" || code == "HF7104") << text << manifest.status();
    EXPECT_THAT(std::string(manifest.status().message()), HasSubstr("line "));
  }
}

TEST(Manifest, AliasesCannotGrowWithoutEnd) {
  std::string text = "kind: Pod\na0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 10; ++i) {
    text +=
        fmt::format("a{0}: &a{0} [*a{1},*a{1},*a{1},*a{1},*a{1},*a{1},*a{1},*a{1}]\n", i, i - 1);
  }

  EXPECT_EQ(split_reason(translate_manifest(text, {}).status()).code, "HF7107");
}

TEST(Manifest, UndoingGivesTheTextBack) {
  const Manifest there = translated_manifest(kPod);

  const Result<Manifest> back = translate_manifest(there.text, {.inject = {}, .undo = true});

  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_THAT(back->warnings, IsEmpty());
  EXPECT_EQ(back->text,
            "kind: Pod\nspec:\n  containers:\n  - name: a\n    livenessProbe:\n"
            "      httpGet: {path: \"/live\", port: 80}  # why\n");
}

TEST(LineDiff, ShowsWhatChangedWithThreeLinesAround) {
  const std::string before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n";
  const std::string after = "1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n11\n12";
  EXPECT_EQ(unified_diff(before, after, {.before = "a", .after = "b"}),
            "--- a\n+++ b\n@@ -2,11 +2,11 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n 9\n 10\n 11\n"
            "-12\n+12\n\\ No newline at end of file\n");
  EXPECT_EQ(unified_diff("a\n", "a\n", {.before = "a", .after = "b"}), "");
  EXPECT_EQ(unified_diff("", "a\n", {.before = "a", .after = "b"}),
            "--- a\n+++ b\n@@ -0,0 +1 @@\n+a\n");
}

}  // namespace
}  // namespace holdfast::inject
