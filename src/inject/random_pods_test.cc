// What holds for every pod, over many that were made at random; more of them are in
// foreign_patch_test.cc.
#include "inject/random_pods.h"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include "base/reason.h"
#include "inject/manifest.h"
#include "inject/source_node.h"
#include "inject/source_write.h"
#include "inject/translate.h"

namespace holdfast::inject {
namespace {

namespace json = boost::json;

constexpr uint32_t kPods = 100;
constexpr uint32_t kTexts = 30;

// Calls it with each that is not refused, and asks for most not to be.
template <typename Check>
void for_each_translated(uint32_t pods, Check check) {
  size_t changed = 0;
  for (uint32_t seed = 0; seed < pods; ++seed) {
    SCOPED_TRACE(seed);
    const json::value document = random_document(seed);
    const Result<Translation> translation = translate(document, {});
    if (!translation.ok()) {
      EXPECT_EQ(split_reason(translation.status()).code, "HF7101") << translation.status();
      continue;
    }
    changed += translation->patch.empty() ? 0 : 1;
    check(document, *translation);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(changed, pods / 2);
}

TEST(RandomPods, HaveAnEmptyPatchExactlyIfNothingChanges) {
  for_each_translated(kPods, [](const json::value& document, const Translation& translation) {
    EXPECT_EQ(translation.patch.empty(), document == translation.document);
  });
}

TEST(RandomPods, AreLeftAloneByASecondRun) {
  for_each_translated(kPods, [](const json::value&, const Translation& translation) {
    const Result<Translation> again = translate(translation.document, {});
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->patch, json::array());
  });
}

TEST(RandomPods, AreByteForByteWhatTheyWereWhenItIsUndone) {
  for_each_translated(kPods, [](const json::value& document, const Translation& translation) {
    const Result<Translation> back = undo(translation.document, {});
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(json::serialize(back->document), json::serialize(document));
  });
}

TEST(RandomPods, AreTheSameAsAPatchOfTheirTree) {
  for_each_translated(kPods, [](const json::value& document, const Translation& translation) {
    SourceNode tree = to_source(document);
    ASSERT_TRUE(apply_patch(tree, translation.patch)) << json::serialize(translation.patch);
    EXPECT_TRUE(same_content(tree, to_source(translation.document)));
  });
}

TEST(RandomPods, GoWhereTheyWentWhenTheHandlerMoves) {
  for_each_translated(kPods, [](const json::value& document, const Translation& translation) {
    const InjectOptions moved{.port = 9200};
    const Result<Translation> anew = translate(document, moved);
    const Result<Translation> after = translate(translation.document, moved);
    ASSERT_EQ(anew.ok(), after.ok()) << after.status();
    if (anew.ok()) EXPECT_EQ(after->document, anew->document);
  });
}

TEST(RandomPods, AreTheSameInYaml) {
  for_each_translated(kTexts, [](const json::value& document, const Translation& translation) {
    const std::string text = block_text(to_source(document), 0) + "\n# the end\n";

    const Result<Manifest> manifest = translate_manifest(text, {});

    ASSERT_TRUE(manifest.ok()) << manifest.status();
    const Result<SourceNode> node = read_yaml_source(manifest->text);
    ASSERT_TRUE(node.ok()) << node.status() << manifest->text;
    EXPECT_EQ(to_value(*node), translation.document) << manifest->text;
    EXPECT_TRUE(manifest->text.ends_with("\n# the end\n")) << manifest->text;
  });
}

TEST(RandomPods, AreTheSameInJsonOfEitherLayout) {
  for_each_translated(kTexts, [](const json::value& document, const Translation& translation) {
    const SourceNode source = to_source(document);
    for (const std::string& text : {flow_text(source), pretty_text(source, "")}) {
      const Result<Manifest> manifest = translate_manifest(text, {});

      ASSERT_TRUE(manifest.ok()) << manifest.status();
      size_t at = 0;
      const Result<SourceNode> node = read_json_source(manifest->text, at);
      ASSERT_TRUE(node.ok()) << node.status() << manifest->text;
      EXPECT_EQ(to_value(*node), translation.document) << manifest->text;
      EXPECT_EQ(manifest->text.contains('\n'), text.contains('\n'));
    }
  });
}

}  // namespace
}  // namespace holdfast::inject
