// apply and delete, with the real command against a real controller.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "e2e/controller_process.h"

namespace holdfast::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kTwoDocuments = R"(kind: service
metadata: {name: web, labels: {tier: front}}
spec: {ports: [{port: 8080, protocol: http}]}
---
kind: agent
metadata: {name: edge-7}
spec: {zone: a, version: "1.0"}
)";

class CliApply : public testing::Test {
 protected:
  ControllerProcess controller_;
};

TEST_F(CliApply, CreatesThenLeavesThenConfigures) {
  const ProgramOutcome created = controller_.cli({"apply", "-f", "-"}, service_yaml("web"));
  const ProgramOutcome again = controller_.cli({"apply", "-f", "-"}, service_yaml("web"));
  const ProgramOutcome changed = controller_.cli({"apply", "-f", "-"}, service_yaml("web", 9090));

  EXPECT_EQ(created.output, "service/web created\n") << created.error;
  EXPECT_EQ(again.output, "service/web unchanged\n") << again.error;
  EXPECT_EQ(changed.output, "service/web configured\n") << changed.error;
  EXPECT_THAT(controller_.cli({"get", "services"}).output, HasSubstr("9090"));
}

TEST_F(CliApply, TakesManyDocumentsFromManyFiles) {
  const TempDir folder;
  std::ofstream(folder.file("two.yaml")) << kTwoDocuments;
  std::ofstream(folder.file("one.json"))
      << R"({"kind": "service", "metadata": {"name": "api"},)"
         R"( "spec": {"ports": [{"port": 1, "protocol": "tcp"}]}})";

  const ProgramOutcome applied =
      controller_.cli({"apply", "-f", folder.file("two.yaml"), "-f", folder.file("one.json")});

  EXPECT_EQ(applied.exit_code, 0) << applied.error;
  EXPECT_EQ(applied.output, "service/web created\nagent/edge-7 created\nservice/api created\n");
  EXPECT_EQ(controller_.cli({"get", "svc", "-o", "name"}).output, "service/api\nservice/web\n");
}

TEST_F(CliApply, ChangesNothingIfAnyDocumentIsWrong) {
  const std::string bad = service_yaml("web") + "---\n" + service_yaml("api", 70000);

  const ProgramOutcome applied = controller_.cli({"apply", "-f", "-"}, bad);

  EXPECT_EQ(applied.exit_code, 65);
  EXPECT_EQ(applied.output, "");
  EXPECT_THAT(applied.error, HasSubstr("70000"));
  EXPECT_EQ(controller_.cli({"get", "svc", "-o", "name"}).output, "");
}

TEST_F(CliApply, ADryRunChangesNothing) {
  controller_.cli({"apply", "-f", "-"}, service_yaml("web"));

  const ProgramOutcome created =
      controller_.cli({"apply", "--dry-run", "-f", "-"}, service_yaml("api"));
  const ProgramOutcome changed =
      controller_.cli({"apply", "--dry-run", "-f", "-"}, service_yaml("web", 9090));

  EXPECT_EQ(created.output, "service/api created (dry run)\n") << created.error;
  EXPECT_EQ(changed.output, "service/web configured (dry run)\n") << changed.error;
  EXPECT_EQ(controller_.cli({"get", "svc", "-o", "name"}).output, "service/web\n");
  EXPECT_THAT(controller_.cli({"get", "svc"}).output, Not(HasSubstr("9090")));
}

TEST_F(CliApply, ARevisionOfWhatIsGoneDoesNotBringItBack) {
  const std::string old = "kind: service\nmetadata: {name: gone, revision: 7}\nspec: {}\n";

  const ProgramOutcome applied = controller_.cli({"apply", "-f", "-"}, old);

  EXPECT_EQ(applied.exit_code, 1);
  EXPECT_THAT(applied.error, HasSubstr("HF6020"));
}

TEST_F(CliApply, AStaleRevisionIsAConflict) {
  controller_.cli({"apply", "-f", "-"}, service_yaml("web"));
  const std::string read = controller_.cli({"get", "service/web", "-o", "yaml"}).output;
  controller_.cli({"apply", "-f", "-"}, service_yaml("web", 9090));

  const ProgramOutcome stale = controller_.cli({"apply", "-f", "-"}, read);

  EXPECT_THAT(read, HasSubstr("revision:"));
  EXPECT_EQ(stale.exit_code, 1);
  EXPECT_THAT(stale.error, HasSubstr("HF6022"));
  EXPECT_THAT(stale.error, HasSubstr("next:"));
  EXPECT_THAT(controller_.cli({"get", "svc"}).output, HasSubstr("9090"));
}

TEST_F(CliApply, WhatWasPrintedAppliesAsUnchanged) {
  controller_.cli({"apply", "-f", "-"}, kTwoDocuments);
  const std::string user =
      "kind: user\nmetadata: {name: ann}\nspec: {roles: [admin], password_hash: $scrypt$x}\n";
  controller_.cli({"apply", "-f", "-"}, user);

  for (const std::string& what : Arguments{"services", "agents", "users", "service/web"}) {
    for (const std::string& format : Arguments{"json", "yaml"}) {
      const std::string printed = controller_.cli({"get", what, "-o", format}).output;
      const ProgramOutcome again = controller_.cli({"apply", "-f", "-"}, printed);
      EXPECT_THAT(again.output, HasSubstr(" unchanged\n")) << what << printed << again.error;
    }
  }
}

TEST_F(CliApply, ASecretInTheFileIsWrittenEachTime) {
  const std::string user =
      "kind: user\nmetadata: {name: ann}\nspec: {roles: [admin], password_hash: $scrypt$x}\n";

  EXPECT_EQ(controller_.cli({"apply", "-f", "-"}, user).output, "user/ann created\n");
  EXPECT_EQ(controller_.cli({"apply", "-f", "-"}, user).output, "user/ann configured\n")
      << "nobody is shown the secret, so nobody can say that it is the same";
}

TEST_F(CliApply, DeleteRemovesWhatIsNamedAndOnlyThat) {
  controller_.cli({"apply", "-f", "-"}, service_yaml("web") + "---\n" + service_yaml("api"));

  const ProgramOutcome deleted = controller_.cli({"delete", "service/web"});
  const ProgramOutcome again = controller_.cli({"delete", "service", "web"});

  EXPECT_EQ(deleted.exit_code, 0);
  EXPECT_EQ(deleted.output, "service/web deleted\n");
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_THAT(again.error, HasSubstr("HF6020"));
  EXPECT_EQ(controller_.cli({"get", "svc", "-o", "name"}).output, "service/api\n");
}

TEST_F(CliApply, DeleteWithoutANameIsRefused) {
  EXPECT_EQ(controller_.cli({"delete", "service"}).exit_code, 64);
}

}  // namespace
}  // namespace holdfast::test
