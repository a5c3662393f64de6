#include "cli/secrets.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <vector>

#include "support/temp_dir.h"

namespace holdfast::cli {
namespace {

using Arguments = std::vector<std::string_view>;

TEST(Secrets, ATokenInAnArgumentIsRefusedWhereverItStands) {
  for (const Arguments& arguments :
       {Arguments{"join", "host", "hf_abcde_fghijklmnopqrstu"},
        Arguments{"join", "--token=hf_abcde_fghijklmnopqrstu"},
        Arguments{"--token-file", "hf_abcde_fghijklmnopqrstu"},
        Arguments{"get", "token", "x:hf_abcde_fghijklmnopqrstu"},
        Arguments{"join", "--token", "anything"}, Arguments{"login", "--password", "anything"},
        Arguments{"login", "--password=anything"}}) {
    const auto refused = refuse_secrets(arguments);
    ASSERT_TRUE(refused) << arguments.back();
    EXPECT_EQ(refused->code, "HF5009");
    EXPECT_EQ(refused->exit, Exit::Usage);
    EXPECT_TRUE(refused->message.contains("`ps`")) << refused->message;
    EXPECT_FALSE(refused->message.contains("fghij")) << "the secret is not repeated";
  }
}

TEST(Secrets, OrdinaryArgumentsPass) {
  EXPECT_FALSE(refuse_secrets(Arguments{"join", "host:1", "--token-file", "-", "--name", "edge"}));
  EXPECT_FALSE(refuse_secrets(Arguments{"get", "service", "hf_web", "half_hf_service_number_one"}));
  EXPECT_FALSE(refuse_secrets(Arguments{"login", "--password-file", "/run/hf/password"}));
  EXPECT_FALSE(refuse_secrets(Arguments{}));
}

TEST(Secrets, TheFileIsStrongerThanTheEnvironment) {
  const test::TempDir folder;
  std::ofstream(folder.file("secret")) << "from file\r\n\n";
  ::setenv("HF_TEST_SECRET", "from environment", 1);

  EXPECT_EQ(read_secret({.file = folder.file("secret"), .variable = "HF_TEST_SECRET"}).value(),
            "from file");
  EXPECT_EQ(read_secret({.variable = "HF_TEST_SECRET"}).value(), "from environment");
  ::unsetenv("HF_TEST_SECRET");
}

TEST(Secrets, WithoutASourceTheFailureNamesThem) {
  const auto secret = read_secret({.variable = "HF_TEST_NONE", .file_option = "--token-file"});

  ASSERT_FALSE(secret);
  EXPECT_EQ(secret.error().exit, Exit::Usage);
  EXPECT_TRUE(secret.error().next.contains("--token-file")) << secret.error().next;
  EXPECT_TRUE(secret.error().next.contains("HF_TEST_NONE")) << secret.error().next;
}

TEST(Secrets, EmptyMissingAndHugeOnesAreBadInput) {
  const test::TempDir folder;
  std::ofstream(folder.file("empty")) << "\n";
  std::ofstream(folder.file("huge")) << std::string(5000, 'x');
  for (const char* name : {"empty", "huge", "missing"}) {
    const auto secret = read_secret({.file = folder.file(name), .variable = "HF_TEST_NONE"});
    ASSERT_FALSE(secret) << name;
    EXPECT_EQ(secret.error().exit, Exit::BadInput) << name;
  }
}

}  // namespace
}  // namespace holdfast::cli
