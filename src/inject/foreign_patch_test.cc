// The patches as somebody else applies them: python3-jsonpatch, over a thousand random pods and
// what becomes of them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/json/serialize.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "inject/random_pods.h"
#include "inject/translate.h"

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

TEST(ForeignPatch, GivesWhatTheTranslationGave) {
  const std::string path = testing::TempDir() + "/holdfast_patches_" + std::to_string(::getpid());
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

  const std::string printed = output_of(
      "/usr/bin/python3 " HF_SOURCE_DIR "/src/inject/testdata/apply_patches.py <" + path + " 2>&1");

  EXPECT_EQ(printed, std::to_string(cases) + "\n");
  std::remove(path.c_str());
}

}  // namespace
}  // namespace holdfast::inject
