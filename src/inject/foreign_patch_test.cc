// The patches as somebody else applies them, python3-jsonpatch, and the pods as somebody else reads
// them, python3-kubernetes: over a thousand random pods and what becomes of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "inject/golden_files.h"
#include "inject/random_pods.h"
#include "inject/translate.h"
#include "support/paths.h"

namespace holdfast::inject {
namespace {

namespace json = boost::json;

constexpr uint32_t kPods = 1000;

std::string case_line(const json::value& before, const Translation& translation) {
  return json::serialize(json::value{
             {"before", before}, {"patch", translation.patch}, {"after", translation.document}}) +
         "\n";
}

// There and back. A second run has nothing to do, and the way back ends where it began.
std::string cases_of(const json::value& document, const Translation& there) {
  const Result<Translation> again = translate(there.document, {});
  const Result<Translation> back = undo(there.document, {});
  EXPECT_TRUE(again.ok() && again->patch.empty());
  EXPECT_TRUE(back.ok());
  if (!back.ok()) return "";
  EXPECT_EQ(json::serialize(back->document), json::serialize(document));
  return case_line(document, there) + case_line(there.document, *back);
}

std::string output_of(const std::string& command) {
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return "no process";
  std::string out;
  char buffer[4096];
  while (const size_t size = std::fread(buffer, 1, sizeof buffer, pipe)) out.append(buffer, size);
  ::pclose(pipe);
  return out;
}

std::string temporary(const char* name) {
  return testing::TempDir() + "/holdfast_" + name + "_" + std::to_string(::getpid());
}

std::string printed_by(const std::string& script, const std::string& input) {
  return output_of("/usr/bin/python3 " + test::in_tree("src/inject/testdata/") + script + " <" +
                   input + " 2>&1");
}

TEST(ForeignPatch, GivesWhatTheTranslationGave) {
  const std::string path = temporary("patches");
  size_t cases = 0;
  {
    std::ofstream file(path);
    for (uint32_t seed = 1; cases < 2 * kPods && !HasFailure(); ++seed) {
      SCOPED_TRACE(seed);
      const json::value document = random_document(seed);
      const Result<Translation> there = translate(document, {});
      if (!there.ok()) continue;  // refused: the pod itself has the handler's port
      file << cases_of(document, *there);
      cases += 2;
    }
  }

  EXPECT_EQ(printed_by("apply_patches.py", path), std::to_string(cases) + "\n");
  std::remove(path.c_str());
}

// Those that are refused are none.
std::string schema_line(const json::value& before, const Result<Translation>& there) {
  if (!there.ok()) return "";
  return json::serialize(json::value{{"before", before}, {"after", there->document}}) + "\n";
}

std::string golden_lines() {
  std::string out;
  for (const std::filesystem::path& path : golden_inputs(test::in_tree("src/inject/testdata"))) {
    const std::string text = read_file(path);
    for (const json::value& document : values_of(text)) {
      out += schema_line(document, translate(document, golden_options(text).inject));
    }
  }
  return out;
}

class ForeignSchema : public testing::Test {
 protected:
  void SetUp() override {
    if (!output_of("/usr/bin/python3 -c 'import kubernetes' 2>&1").empty()) {
      GTEST_SKIP() << "there is no python3-kubernetes, whose models are the schema";
    }
  }
  void TearDown() override { std::remove(path_.c_str()); }

  std::string checked(const std::string& lines, const std::string& option = "") const {
    std::ofstream(path_) << lines;
    return printed_by("check_schema.py" + option, path_);
  }

 private:
  const std::string path_ = temporary("schema");
};

TEST_F(ForeignSchema, KnowsEverythingThatIsWritten) {
  std::string lines = golden_lines();
  for (uint32_t seed = 1; seed <= kPods; ++seed) {
    const json::value document = random_document(seed);
    lines += schema_line(document, translate(document, {}));
  }
  const auto cases = std::ranges::count(lines, '\n');

  const std::string printed = checked(lines);

  EXPECT_TRUE(printed.starts_with(std::to_string(cases) + " ")) << printed.substr(0, 4000);
  // Not only because the documents were wrong before.
  EXPECT_GT(std::atoi(printed.substr(printed.find(' ') + 1).c_str()), 20) << printed;
}

TEST_F(ForeignSchema, FindsWhatIsWrong) {
  const std::pair<const char*, const char*> rows[] = {
      {R"({"name":"a","readinessProbe":{"httpGet":{"port":1},"periodSeconds":"1"}})",
       "V1Probe.periodSeconds"},
      {R"({"name":"a","readinessProbe":{"httpGet":{"port":0}}})", "no port that can be"},
      {R"({"name":"a","readinessProbe":{"httpGet":{"port":1},"tcpSocket":{"port":1}}})",
       "has not one action"},
      {R"({"image":"a"})", "`name`, must not be `None`"},
      {R"({"name":"A"})", "has no name"},
      {R"({"name":"a","readynessProbe":{}})", "V1Container.readynessProbe"},
      {R"({"name":"a","env":{}})", "V1Container.env"},
  };
  std::string lines;
  for (const auto& [container, unused] : rows) {
    const std::string line =
        std::string(R"({"before":{"kind":"Pod"},"after":{"kind":"Pod","spec":{"containers":[)") +
        container + "]}}}";
    lines += json::serialize(json::parse(line)) + "\n";
  }

  std::istringstream found(checked(lines, " --each"));

  for (const auto& [container, problem] : rows) {
    std::string line;
    ASSERT_TRUE(std::getline(found, line)) << container;
    EXPECT_THAT(line, testing::HasSubstr(problem)) << container;
  }
}

}  // namespace
}  // namespace holdfast::inject
