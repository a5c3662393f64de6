// get and watch, with the real command against a real controller.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "e2e/controller_process.h"

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class CliGet : public testing::Test {
 protected:
  void apply(const std::string& text) {
    const ProgramOutcome applied = controller_.cli({"apply", "-f", "-"}, text);
    ASSERT_EQ(applied.exit_code, 0) << applied.error;
  }

  ControllerProcess controller_;
};

size_t count_of(const std::string& text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    count += 1;
  }
  return count;
}

TEST_F(CliGet, ShowsATableWithTheColumnsOfTheKind) {
  apply(service_yaml("web"));

  const ProgramOutcome table = controller_.cli({"get", "services"});

  EXPECT_EQ(table.exit_code, 0);
  EXPECT_EQ(table.output,
            "NAME   PORTS   PROTOCOLS   AGENTS   VIRTUAL IP\n"
            "web    8080    tcp         -        -\n");
}

TEST_F(CliGet, TheWideTableHasMoreColumnsAndEachOnce) {
  apply(
      "kind: service\nmetadata: {name: web, labels: {tier: front}}\n"
      "spec: {ports: [{port: 80, protocol: tcp}]}\n");

  const std::string wide = controller_.cli({"get", "services", "-o", "wide"}).output;

  EXPECT_THAT(wide, AllOf(HasSubstr("REVISION"), HasSubstr("WHEN FULL"), HasSubstr("tier=front")));
  EXPECT_EQ(count_of(wide, "LABELS"), 1U) << wide;
}

TEST_F(CliGet, EveryKindCanBeListedInEveryForm) {
  for (const char* kind : {"controller", "proxy", "agent", "service", "token", "role", "user",
                           "networking_config", "zone_map", "capacity_lease", "cert_authority"}) {
    for (const char* form : {"table", "wide", "json", "yaml", "name"}) {
      const ProgramOutcome listed = controller_.cli({"get", kind, "-o", form});
      EXPECT_EQ(listed.exit_code, 0) << kind << " " << form << listed.error;
    }
  }
}

TEST_F(CliGet, LoadOfAServiceThatIsNotThereIsAnError) {
  apply(service_yaml("web"));
  EXPECT_EQ(controller_.cli({"get", "load", "web"}).exit_code, 0) << "nobody has reported any";

  for (const Arguments& names :
       {Arguments{"load", "nope"}, {"load/nope"}, {"load", "web", "nope"}}) {
    Arguments command = {"get"};
    command.insert(command.end(), names.begin(), names.end());
    const ProgramOutcome load = controller_.cli(command);
    EXPECT_EQ(load.exit_code, 1) << names.back();
    EXPECT_THAT(load.error, AllOf(HasSubstr("HF6020"), HasSubstr("nope")));
  }
}

TEST_F(CliGet, ARouteFromAZoneThatNobodyKnowsIsAnError) {
  apply(service_yaml("web"));
  apply("kind: zone_map\nmetadata: {name: default}\nspec: {zones: [{name: a, id: 1}]}\n");
  EXPECT_EQ(controller_.cli({"route", "explain", "web", "--from", "a"}).exit_code, 0);

  const ProgramOutcome route = controller_.cli({"route", "explain", "web", "--from", "zz"});

  EXPECT_EQ(route.exit_code, 1);
  EXPECT_EQ(route.output, "");
  EXPECT_THAT(route.error, AllOf(HasSubstr("HF1047"), HasSubstr("\"zz\""), HasSubstr("get zones")));
}

TEST_F(CliGet, PrintsOneResourceAsItselfAndManyAsAList) {
  apply(service_yaml("web") + "---\n" + service_yaml("api"));

  const std::string one = controller_.cli({"get", "service/web", "-o", "json"}).output;
  const std::string many = controller_.cli({"get", "services", "-o", "json"}).output;

  EXPECT_THAT(one, AllOf(HasSubstr("\"kind\": \"service\""), Not(HasSubstr("\"list\""))));
  EXPECT_THAT(many, HasSubstr("\"kind\": \"list\""));
  EXPECT_TRUE(one.ends_with("}\n")) << one;
  EXPECT_TRUE(many.ends_with("}\n")) << many;
  EXPECT_FALSE(many.ends_with("\n\n")) << many;
}

TEST_F(CliGet, AnUnknownKindIsRefusedWithTheNearestSpelling) {
  const ProgramOutcome result = controller_.cli({"get", "servcie"});

  EXPECT_EQ(result.exit_code, 64);
  EXPECT_THAT(result.error, HasSubstr("did you mean \"service\"?"));
}

TEST_F(CliGet, WhatIsNotThereIsAFailureWithItsCode) {
  const ProgramOutcome result = controller_.cli({"get", "service", "nope"});

  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.output, "");
  EXPECT_THAT(result.error, AllOf(HasSubstr("HF6020"), HasSubstr("\"nope\""), HasSubstr("next:")));
}

TEST_F(CliGet, AnEmptyListingSaysSoOnStderrOnly) {
  const ProgramOutcome result = controller_.cli({"get", "services"});

  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.output, "");
  EXPECT_EQ(result.error, "No services found.\n");
}

TEST_F(CliGet, NamesThatCannotBeAreRefused) {
  const std::string long_name(300, 'a');
  for (const std::string& name : Arguments{"a/b", "..", "a b", "\xff", "-x-", long_name}) {
    const ProgramOutcome result = controller_.cli({"get", "service", "--", name});
    EXPECT_EQ(result.exit_code, 65) << name << result.error;
    EXPECT_THAT(result.error, HasSubstr("HF6010")) << name;
  }
}

TEST_F(CliGet, ASelectorShowsOnlyWhatMatches) {
  apply(
      "kind: service\nmetadata: {name: web, labels: {tier: front, env: prod}}\nspec: {ports: "
      "[{port: 80, protocol: tcp}]}\n---\nkind: service\nmetadata: {name: db, labels: {tier: "
      "back, env: prod}}\nspec: {ports: [{port: 80, protocol: tcp}]}\n");

  EXPECT_EQ(controller_.cli({"get", "svc", "-l", "tier=front", "-o", "name"}).output,
            "service/web\n");
  EXPECT_EQ(controller_.cli({"get", "svc", "-l", "env=prod,tier=back", "-o", "name"}).output,
            "service/db\n");
  EXPECT_EQ(controller_.cli({"get", "svc", "-l", "tier"}).exit_code, 64);
}

TEST_F(CliGet, AListingOfManyPagesIsWholeAndInOrder) {
  std::string documents;
  std::string names;
  for (int i = 0; i < 450; ++i) {
    documents += "---\n" + service_yaml(fmt::format("s{:03}", i));
    names += fmt::format("service/s{:03}\n", i);
  }
  apply(documents);

  EXPECT_EQ(controller_.cli({"get", "svc", "-o", "name"}).output, names);
}

TEST_F(CliGet, SecretsAreNeverPrinted) {
  apply(
      "kind: user\nmetadata: {name: ann}\nspec: {roles: [admin], password_hash: "
      "$scrypt$verysecret}\n");
  ASSERT_EQ(controller_.cli({"init"}).exit_code, 0);
  const ProgramOutcome made = controller_.cli({"token", "create", "--role", "agent"});
  ASSERT_EQ(made.exit_code, 0) << made.error;
  const std::string secret = made.output.substr(0, made.output.find('\n'));
  const std::string id = secret.substr(3, secret.find('_', 3) - 3);
  std::string printed;
  for (const char* form : {"table", "wide", "json", "yaml", "name"}) {
    for (const std::string& what :
         {std::string("users"), std::string("user/ann"), std::string("tokens"), "token/" + id}) {
      printed += controller_.cli({"get", what, "-o", form}).output;
    }
  }
  for (const char* form : {"table", "json"}) {
    printed +=
        controller_.cli({"watch", "user", "token", "--after", "1", "--count", "2", "-o", form})
            .output;
  }

  EXPECT_THAT(printed, HasSubstr("ann"));
  EXPECT_THAT(printed, HasSubstr("token/" + id));
  EXPECT_THAT(printed, Not(HasSubstr("verysecret")));
  EXPECT_THAT(printed, Not(HasSubstr("password")));
  EXPECT_THAT(printed, Not(HasSubstr(secret.substr(secret.rfind('_') + 1))));
  EXPECT_THAT(printed, Not(HasSubstr("hash")));
}

TEST_F(CliGet, WatchPrintsChangesInOrderAndStopsAfterTheCount) {
  apply(service_yaml("web"));
  apply(service_yaml("web", 9090));
  controller_.cli({"delete", "service/web"});

  const ProgramOutcome watched =
      controller_.cli({"watch", "services", "--after", "1", "--count", "3"});

  EXPECT_EQ(watched.exit_code, 0) << watched.error;
  // The controller's own entry takes revisions too.
  EXPECT_THAT(watched.output, testing::MatchesRegex("put    service/web  revision [0-9]+\n"
                                                    "put    service/web  revision [0-9]+\n"
                                                    "delete service/web  revision [0-9]+\n"));
  EXPECT_THAT(watched.error, HasSubstr("watching service after revision 1"));
}

TEST_F(CliGet, WatchOfTheFutureIsRefused) {
  const ProgramOutcome watched = controller_.cli({"watch", "services", "--after", "999999"});

  EXPECT_EQ(watched.exit_code, 1);
  EXPECT_THAT(watched.error, AllOf(HasSubstr("HF6023"), HasSubstr("future")));
}

}  // namespace
}  // namespace holdfast::test
