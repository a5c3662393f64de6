// What is checked in beside the table of keys says the same as the table. To write it anew, run
// this with HF_WRITE_GENERATED=1.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "config/keys.h"
#include "config/load.h"
#include "config/schema.h"
#include "resource/node.h"
#include "support/paths.h"

namespace holdfast::config {
namespace {

using testing::HasSubstr;

const std::string kRoot = test::in_tree("");
constexpr std::string_view kBegin = "<!-- keys: written by config_test -->\n";
constexpr std::string_view kEnd = "<!-- keys: end -->\n";

std::string read(const std::string& path) {
  std::ifstream file(kRoot + "/" + path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void write_if_asked(const std::string& path, const std::string& text) {
  if (std::getenv("HF_WRITE_GENERATED") == nullptr) return;
  std::ofstream(kRoot + "/" + path) << text;
}

TEST(Generated, TheSchemaIsTheOneOfTheTable) {
  const std::string path = "packaging/holdfast.schema.json";
  write_if_asked(path, json_schema());

  EXPECT_EQ(read(path), json_schema()) << "run config_test with HF_WRITE_GENERATED=1";
}

TEST(Generated, TheDocumentHasTheTable) {
  const std::string path = "docs/configuration.md";
  const std::string text = read(path);
  const size_t begin = text.find(kBegin);
  const size_t end = text.find(kEnd);
  ASSERT_NE(begin, std::string::npos);
  ASSERT_LT(begin, end);
  const std::string wanted =
      text.substr(0, begin + kBegin.size()) + markdown_table() + text.substr(end);
  write_if_asked(path, wanted);

  EXPECT_EQ(read(path), wanted) << "run config_test with HF_WRITE_GENERATED=1";
}

TEST(Generated, TheSchemaIsJsonAndHasEveryKey) {
  const auto schema = resource::read_json(json_schema());
  ASSERT_TRUE(schema) << schema.error().message;

  for (const Key& key : keys()) {
    const resource::Node* at = &*schema;
    std::string_view rest = key.path;
    while (at != nullptr && !rest.empty()) {
      const size_t dot = std::min(rest.find('.'), rest.size());
      at = resource::find_member(*at, "properties");
      if (at != nullptr) at = resource::find_member(*at, rest.substr(0, dot));
      rest.remove_prefix(std::min(dot + 1, rest.size()));
    }
    ASSERT_NE(at, nullptr) << key.path;
    EXPECT_NE(resource::find_member(*at, "description"), nullptr) << key.path;
  }
}

// Each commented line `#   key: value` of the packaged file, and what is not a comment, is read.
TEST(Generated, ThePackagedFileIsGoodWithAndWithoutItsComments) {
  const std::string path = "packaging/holdfast.yaml";
  const std::string text = read(path);
  ASSERT_THAT(text, HasSubstr("version: 1"));
  std::string uncommented;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    // "# A" begins a sentence; "#a" and "#  a" are keys.
    const bool is_sentence = line.starts_with("# ") && !line.starts_with("#  ");
    if (line.size() > 1 && line.front() == '#' && !is_sentence) line.erase(0, 1);
    uncommented += line + "\n";
  }

  for (const std::string& yaml : {text, uncommented}) {
    for (const Role role :
         {Role::Controller, Role::Proxy, Role::Agent, Role::Probe, Role::Injector}) {
      // Without a certificate an injector is not whole.
      if (role == Role::Injector && yaml == text) continue;
      const Sources sources = {.file_path = path,
                               .file_text = yaml,
                               .environment = {},
                               .flags = {},
                               .machine = {{"controller.name", "n"},
                                           {"controller.data_dir", "/d"},
                                           {"node.data_dir", "/d"}},
                               .role = role};
      const Checked checked = check(sources);
      EXPECT_EQ(problems_text(checked.problems, yaml), "");
    }
  }
}

TEST(Generated, EveryKeyIsInThePackagedFile) {
  const std::string text = read("packaging/holdfast.yaml");

  for (const Key& key : keys()) {
    const std::string name(key.path.substr(key.path.rfind('.') + 1));
    EXPECT_THAT(text, HasSubstr(name + ":")) << key.path;
  }
}

TEST(Table, HasEveryPathOnceAndASentenceForEach) {
  std::set<std::string_view> paths;
  std::set<std::string> variables;
  for (const Key& key : keys()) {
    EXPECT_TRUE(paths.insert(key.path).second) << key.path;
    EXPECT_TRUE(variables.insert(environment_name(key)).second) << key.path;
    EXPECT_TRUE(key.doc.ends_with('.')) << key.path;
    EXPECT_NE(key.assign, nullptr) << key.path;
    EXPECT_NE(key.roles, 0) << key.path;
  }
  EXPECT_EQ(environment_name(*find_key("controller.http.health_listen")),
            "HOLDFAST_CONTROLLER_HTTP_HEALTH_LISTEN");
}

}  // namespace
}  // namespace holdfast::config
