// From nothing to a cluster, with the real command and a real controller: init, token, join, user,
// login, and what each of them refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "e2e/controller_process.h"
#include "support/eventually.h"
#include "support/paths.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string read(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class CliIdentity : public testing::Test {
 protected:
  // As the machine's admin, over the socket.
  ProgramOutcome admin(const Arguments& arguments, const std::string& input = "") {
    return controller_.cli(arguments, input);
  }
  // Over the network, with a profile of its own.
  ProgramOutcome remote(Arguments arguments, std::string input = "") {
    arguments.insert(arguments.begin(), {built("holdfast"), "--profile", profile()});
    return run_program({.arguments = std::move(arguments), .input = std::move(input)});
  }
  std::string profile() const { return folder_.file("profile"); }

  // The pin of the cluster, which is made if there is none.
  std::string init() {
    const ProgramOutcome made = admin({"init", "--cluster", "prod"});
    EXPECT_EQ(made.exit_code, 0) << made.error;
    const size_t at = made.output.find("sha256:");
    EXPECT_NE(at, std::string::npos) << made.output;
    const std::string pin = made.output.substr(at, made.output.find('\n', at) - at);
    // Listeners over TLS open once there is an authority.
    EXPECT_TRUE(eventually([&] { return !wrong_pin_is_unreachable(); }, 10s));
    return pin;
  }
  bool wrong_pin_is_unreachable() {
    return remote({"login", "--user", "x", controller_.tcp_server(), "--pin",
                   "sha256:" + std::string(64, '0'), "--password-file", "-"},
                  "x")
               .exit_code == 69;
  }
  std::string token(Arguments more = {}) {
    Arguments arguments = {"token", "create", "--role", "agent"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProgramOutcome made = admin(arguments);
    EXPECT_EQ(made.exit_code, 0) << made.error;
    return made.output;
  }
  ProgramOutcome join(const std::string& pin, const std::string& token, Arguments more = {}) {
    Arguments arguments = {"join",       controller_.tcp_server(), "--pin",
                           pin,          "--token-file",           "-",
                           "--data-dir", folder_.file("node")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return remote(arguments, token);
  }
  void login_as(const std::string& user, const std::string& role, const std::string& pin) {
    std::ofstream(folder_.file("password")) << "correct horse\n";
    const ProgramOutcome made = admin(
        {"user", "create", user, "--role", role, "--password-file", folder_.file("password")});
    ASSERT_EQ(made.exit_code, 0) << made.error;
    const ProgramOutcome in = remote({"login", "--user", user, controller_.tcp_server(), "--pin",
                                      pin, "--password-file", folder_.file("password")});
    ASSERT_EQ(in.exit_code, 0) << in.error;
  }

  TempDir folder_;
  ControllerProcess controller_;
};

TEST_F(CliIdentity, InitTwiceShowsTheSameAndSaysSo) {
  const std::string pin = init();

  const ProgramOutcome again = admin({"init"});
  const ProgramOutcome other = admin({"init", "--cluster", "other"});

  EXPECT_EQ(again.exit_code, 0) << again.error;
  EXPECT_THAT(again.output, AllOf(HasSubstr("prod"), HasSubstr(pin)));
  EXPECT_THAT(again.error, AllOf(HasSubstr("already exists"), HasSubstr("holdfast join"),
                                 HasSubstr("holdfast token create")));
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_THAT(other.error, HasSubstr("HF5014"));
}

TEST_F(CliIdentity, ANodeJoinsOnceWithAToken) {
  const std::string pin = init();
  const std::string secret = token({"--zone", "a"});

  const ProgramOutcome joined = join(pin, secret, {"--name", "edge-07"});

  EXPECT_EQ(joined.exit_code, 0) << joined.error;
  EXPECT_EQ(joined.output, "agent/edge-07\n");
  EXPECT_THAT(read(folder_.file("node") + "/identity/node.yaml"), HasSubstr("zone: a"));
  const ProgramOutcome again = join(pin, secret, {"--name", "edge-08", "--replace"});
  EXPECT_EQ(again.exit_code, 77) << again.error;
  EXPECT_THAT(again.error, HasSubstr("HF5005"));
}

// Each line after its first words, with what stands for something filled in.
std::string suggested(const std::string& text, const std::string& after, const std::string& host) {
  const size_t at = text.find(after);
  if (at == std::string::npos) return "nothing after " + after;
  std::string line = text.substr(at + after.size());
  line.erase(line.find('\n'));
  for (const auto& [word, by] : {std::pair<std::string, std::string>{"THIS_HOST:7443", host},
                                 {"NAME", "edge-07"},
                                 {"holdfast ", built("holdfast ")}}) {
    if (const size_t found = line.find(word); found != std::string::npos) {
      line.replace(found, word.size(), by);
    }
  }
  return line;
}

TEST_F(CliIdentity, WhatInitSuggestsWorksAsItIsPrinted) {
  init();
  const std::string text = admin({"init"}).error;
  const auto run_line = [&](const std::string& after, const std::string& environment) {
    const std::string line = suggested(text, after, controller_.tcp_server());
    return run_program(
        {.arguments = {"sh", "-c", "cd " + folder_.file(".") + " && " + environment + line}});
  };

  const ProgramOutcome made =
      run_line("Next, here:      ", "HOLDFAST_SERVER=" + controller_.unix_server() + " ");
  EXPECT_EQ(made.exit_code, 0) << made.error << text;
  const ProgramOutcome joined =
      run_line("then on a node:  ", "HOLDFAST_DATA_DIR=" + folder_.file("node") + " ");
  EXPECT_EQ(joined.exit_code, 0) << joined.error << text;
  EXPECT_EQ(joined.output, "agent/edge-07\n");
}

TEST_F(CliIdentity, WhoJoinsWithoutANameIsToldHowToSayIt) {
  const ProgramOutcome nameless = join(init(), token());

  EXPECT_EQ(nameless.exit_code, 65);
  EXPECT_THAT(nameless.error, AllOf(HasSubstr("the node's name"), HasSubstr("--name NAME")));
}

TEST_F(CliIdentity, AUserIsNotMadeForAPasswordThatIsTooShort) {
  init();
  const ProgramOutcome made =
      admin({"user", "create", "ann", "--role", "viewer", "--password-file", "-"}, "short\n");

  EXPECT_EQ(made.exit_code, 65) << made.error;
  EXPECT_THAT(made.error, HasSubstr("nothing was changed"));
  EXPECT_EQ(admin({"get", "user", "ann"}).exit_code, 1) << "there is none";
}

TEST_F(CliIdentity, ARoleThatDoesNotExistIsAWarning) {
  init();
  const ProgramOutcome made = admin({"user", "create", "ann", "--role", "viewr"});
  const ProgramOutcome known = admin({"user", "create", "bob", "--role", "viewer"});

  EXPECT_EQ(made.exit_code, 0) << made.error;
  EXPECT_THAT(made.error, HasSubstr("there is no role \"viewr\""));
  EXPECT_THAT(known.error, Not(HasSubstr("there is no role")));
}

TEST_F(CliIdentity, ATokenIsForWhatItWasMadeFor) {
  const std::string pin = init();
  const ProgramOutcome wrong_zone =
      join(pin, token({"--zone", "a"}), {"--name", "edge", "--zone", "b"});
  EXPECT_EQ(wrong_zone.exit_code, 77) << wrong_zone.error;
  EXPECT_THAT(wrong_zone.error, HasSubstr("HF5007"));
  const ProgramOutcome wrong_name = join(pin, token({"--name", "edge-1"}), {"--name", "edge-2"});
  EXPECT_EQ(wrong_name.exit_code, 77) << wrong_name.error;
  EXPECT_THAT(wrong_name.error, HasSubstr("HF5007"));
}

TEST_F(CliIdentity, ARevokedTokenIsWorthNothing) {
  const std::string pin = init();
  const ProgramOutcome made =
      admin({"token", "create", "--role", "agent", "--out", folder_.file("token")});
  ASSERT_EQ(made.exit_code, 0) << made.error;
  EXPECT_EQ(made.output, "") << "the secret is in the file only";
  const std::string secret = read(folder_.file("token"));
  const std::string name = secret.substr(3, secret.find('_', 3) - 3);
  EXPECT_THAT(admin({"token", "list", "-o", "name"}).output, HasSubstr("token/" + name));

  EXPECT_EQ(admin({"token", "revoke", name}).exit_code, 0);

  EXPECT_EQ(join(pin, secret, {"--name", "edge"}).exit_code, 77);
}

TEST_F(CliIdentity, AnotherPinIsRefusedBeforeAnythingIsSent) {
  init();
  const ProgramOutcome joined = join("sha256:" + std::string(64, '1'), token(), {"--name", "edge"});

  EXPECT_EQ(joined.exit_code, 77);
  EXPECT_THAT(joined.error, AllOf(HasSubstr("HF5008"), HasSubstr("in between")));
  EXPECT_FALSE(std::filesystem::exists(folder_.file("node") + "/identity/identity.pem"));
}

TEST_F(CliIdentity, ATokenAmongTheArgumentsIsRefused) {
  const std::string secret = "hf_abcdefgh_abcdefghijklmnopqrstuvwx";
  for (const Arguments& arguments : {Arguments{"join", "host:1", secret},
                                     {"join", "host:1", "--token", secret},
                                     {"join", "host:1", "--token=" + secret}}) {
    const ProgramOutcome result = remote(arguments);
    EXPECT_EQ(result.exit_code, 64);
    EXPECT_THAT(result.error, AllOf(HasSubstr("HF5009"), HasSubstr("ps"), Not(HasSubstr(secret))));
  }
}

TEST_F(CliIdentity, AUserLogsInAndIsKnownByName) {
  login_as("ann", "viewer", init());

  const ProgramOutcome me = remote({"whoami"});

  EXPECT_EQ(me.exit_code, 0) << me.error;
  EXPECT_THAT(me.output, AllOf(HasSubstr("user/ann\n"), HasSubstr("cluster  prod"),
                               HasSubstr("roles    viewer"), HasSubstr("expires")));
  EXPECT_EQ(admin({"whoami", "-o", "name"}).output, "local\n");
  EXPECT_EQ(remote({"logout"}).exit_code, 0);
  EXPECT_EQ(remote({"--server", controller_.tcp_server(), "whoami"}).exit_code, 78);
}

TEST_F(CliIdentity, AViewerMayLookAndNotTouch) {
  login_as("ann", "viewer", init());

  EXPECT_EQ(remote({"get", "services"}).exit_code, 0);
  const ProgramOutcome refused = remote({"apply", "-f", "-"}, service_yaml("web"));
  EXPECT_EQ(refused.exit_code, 77) << refused.error;
  EXPECT_THAT(refused.error, HasSubstr("HF5001"));
  const ProgramOutcome json = remote({"get", "tokens", "nothing", "-o", "json"});
  EXPECT_THAT(json.error, HasSubstr("{\"error\":{\"code\":\"HF"));
}

TEST_F(CliIdentity, AProxyForTheWebIsNotAskedForTheController) {
  login_as("ann", "viewer", init());

  const ProgramOutcome result = run_program(
      {.arguments = {"env", "http_proxy=http://127.0.0.1:9", "https_proxy=http://127.0.0.1:9",
                     built("holdfast"), "--profile", profile(), "get", "services"}});

  EXPECT_EQ(result.exit_code, 0) << result.error;
}

TEST_F(CliIdentity, AWrongPasswordAndAnUnknownUserAreTheSame) {
  const std::string pin = init();
  login_as("ann", "viewer", pin);
  for (const char* user : {"ann", "bob"}) {
    const ProgramOutcome in = remote(
        {"login", "--user", user, controller_.tcp_server(), "--pin", pin, "--password-file", "-"},
        "not the password");
    EXPECT_EQ(in.exit_code, 77) << in.error;
    EXPECT_THAT(in.error, HasSubstr("HF5010")) << user;
  }
}

TEST_F(CliIdentity, AUserThatIsEditedKeepsThePassword) {
  const std::string pin = init();
  login_as("ann", "viewer", pin);
  std::string text = admin({"get", "user/ann", "-o", "yaml"}).output;
  ASSERT_THAT(text, AllOf(HasSubstr("viewer"), Not(HasSubstr("password"))));
  text.replace(text.find("viewer"), 6, "operator");

  const ProgramOutcome edited = admin({"apply", "-f", "-"}, text);

  EXPECT_EQ(edited.output, "user/ann configured\n") << edited.error;
  const ProgramOutcome in = remote({"login", "--user", "ann", controller_.tcp_server(), "--pin",
                                    pin, "--password-file", folder_.file("password")});
  EXPECT_EQ(in.exit_code, 0) << in.error;
  EXPECT_THAT(remote({"whoami"}).output, HasSubstr("roles    operator"));
}

TEST_F(CliIdentity, AnAdminMakesACertificateThatLogsIn) {
  const std::string pin = init();
  ASSERT_EQ(admin({"user", "create", "bob", "--role", "operator"}).exit_code, 0);
  const ProgramOutcome made =
      admin({"user", "cert", "bob", "--ttl", "1h", "--out", folder_.file("bob.pem")});
  ASSERT_EQ(made.exit_code, 0) << made.error;

  const ProgramOutcome in = remote(
      {"login", "--identity", folder_.file("bob.pem"), controller_.tcp_server(), "--pin", pin});

  EXPECT_EQ(in.exit_code, 0) << in.error;
  EXPECT_EQ(remote({"whoami", "-o", "name"}).output, "user/bob\n");
}

TEST_F(CliIdentity, ARotationGoesThroughItsPhases) {
  const std::string pin = init();
  EXPECT_THAT(admin({"rotate", "status"}).output, HasSubstr("phase    none"));
  const ProgramOutcome dry = admin({"rotate", "start", "--dry-run"});
  EXPECT_EQ(dry.exit_code, 0) << dry.error;
  EXPECT_THAT(admin({"rotate", "status"}).output, HasSubstr("phase    none"));

  const ProgramOutcome started = admin({"rotate", "start"});

  EXPECT_EQ(started.exit_code, 0) << started.error;
  EXPECT_THAT(started.output, AllOf(HasSubstr("phase    prepare"), HasSubstr(pin)));
  const ProgramOutcome twice = admin({"rotate", "start"});
  EXPECT_EQ(twice.exit_code, 1);
  EXPECT_THAT(twice.error, HasSubstr("HF5020"));
  EXPECT_THAT(admin({"rotate", "rollback"}).output, HasSubstr("phase    none"));
}

}  // namespace
}  // namespace holdfast::test
