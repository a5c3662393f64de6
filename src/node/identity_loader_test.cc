#include "node/identity_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <fstream>

#include "base/private_file.h"
#include "base/reason.h"
#include "node/identity_fixture.h"
#include "support/temp_dir.h"

namespace holdfast::node {
namespace {

using testing::HasSubstr;

class IdentityLoader : public testing::Test {
 protected:
  void join() {
    held_ = make_held(cluster_.pems("edge-07")).value();
    ASSERT_TRUE(make_private_folder(folder()).ok());
    ASSERT_TRUE(save_identity(folder(), held_).ok());
    write("node.yaml", "kind: node\nserver: ctl-1:7443,ctl-2:7443\n");
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder() + "/" + name) << text;
  }
  std::string folder() const { return dir_.file("identity"); }

  test::TempDir dir_;
  TestCluster cluster_;
  HeldIdentity held_;
};

TEST_F(IdentityLoader, WhatWasSavedIsLoaded) {
  join();

  const Result<LoadedNode> loaded = load_node(folder());

  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->held.who, held_.who);
  EXPECT_EQ(loaded->held.certificate_pem, held_.certificate_pem);
  EXPECT_EQ(loaded->servers, (std::vector<std::string>{"ctl-1:7443", "ctl-2:7443"}));
  struct stat file{};
  ASSERT_EQ(::stat((folder() + "/identity.pem").c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600U);
}

TEST_F(IdentityLoader, WhoHasNotJoinedIsTold) {
  const Result<LoadedNode> loaded = load_node(folder());

  EXPECT_EQ(split_reason(loaded.status()).code, "HF5017");
  EXPECT_THAT(loaded.status().ToString(), HasSubstr("holdfast join"));
}

TEST_F(IdentityLoader, ADamagedPartIsNamed) {
  join();
  write("identity.pem", "nonsense");
  EXPECT_EQ(split_reason(load_node(folder()).status()).code, "HF5018");

  join();
  write("ca.pem", "");
  EXPECT_EQ(split_reason(load_node(folder()).status()).code, "HF5018");

  join();
  std::remove((folder() + "/ca.pem").c_str());
  EXPECT_THAT(load_node(folder()).status().ToString(),
              testing::AllOf(HasSubstr("HF5018"), HasSubstr("ca.pem")));
}

TEST_F(IdentityLoader, WhatIsOddIsAWarning) {
  join();
  EXPECT_THAT(load_node(folder())->warnings, testing::IsEmpty());

  ASSERT_EQ(::chmod((folder() + "/identity.pem").c_str(), 0640), 0);
  write("node.yaml", "kind: node\nname: edge-08\n");

  EXPECT_THAT(
      load_node(folder())->warnings,
      testing::ElementsAre(HasSubstr("chmod 600"),
                           testing::AllOf(HasSubstr("agent/edge-07"), HasSubstr("edge-08"))));
}

TEST_F(IdentityLoader, WithoutTheServerItIsUsable) {
  join();
  for (const char* text : {"", "- a\n", "server: {a: b}\n", "server: [\n"}) {
    write("node.yaml", text);
    const Result<LoadedNode> loaded = load_node(folder());
    ASSERT_TRUE(loaded.ok()) << text << loaded.status();
    EXPECT_TRUE(loaded->servers.empty()) << text;
  }
}

}  // namespace
}  // namespace holdfast::node
