// The API as a stranger's program sees it, in Python and with protoc's messages: what works with a
// certificate, what is refused with a wrong one, and what is left of it in the audit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

#include "e2e/controller_process.h"
#include "identity/audit.h"
#include "support/eventually.h"
#include "support/paths.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// Another python3 in the PATH would not have what tools/setup installs.
constexpr const char* kPython = "/usr/bin/python3";
constexpr const char* kProtos[] = {
    "holdfast/v1/api.proto",       "holdfast/v1/identity.proto",
    "holdfast/v1/node.proto",      "holdfast/v1/resource.proto",
    "grpc/health/v1/health.proto", "grpc/reflection/v1alpha/reflection.proto"};

std::string read(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

void run(Arguments arguments) {
  const std::string shown = arguments.front();
  const ProgramOutcome result = run_program({.arguments = std::move(arguments)});
  ASSERT_EQ(result.exit_code, 0) << shown << ": " << result.error;
}

class ForeignClient : public testing::Test {
 protected:
  void SetUp() override {
    Arguments protoc = {"protoc", "-I", in_tree("proto"), "--python_out", folder_.file("")};
    protoc.insert(protoc.end(), std::begin(kProtos), std::end(kProtos));
    run(protoc);
    const ProgramOutcome made = controller_.cli({"init", "--cluster", "prod"});
    ASSERT_EQ(made.exit_code, 0) << made.error;
    const size_t at = made.output.find("sha256:");
    join("edge-07", made.output.substr(at, made.output.find('\n', at) - at));
    for (const char* name : {"s1", "s2", "s3", "s4", "s5"}) {
      const ProgramOutcome applied = controller_.cli({"apply", "-f", "-"}, service_yaml(name));
      ASSERT_EQ(applied.exit_code, 0) << applied.error;
    }
  }

  // Its identity is in node/identity/.
  void join(const std::string& name, const std::string& pin) {
    const ProgramOutcome token = controller_.cli({"token", "create", "--role", "agent"});
    ASSERT_EQ(token.exit_code, 0) << token.error;
    const auto joined = [&] {
      return run_program({.arguments = {built("holdfast"), "join", controller_.tcp_server(),
                                        "--pin", pin, "--token-file", "-", "--name", name,
                                        "--data-dir", folder_.file("node")},
                          .input = token.output})
                 .exit_code == 0;
    };
    // Listeners over TLS open once there is an authority.
    ASSERT_TRUE(eventually(joined, 10s)) << controller_.log();
  }
  std::string agent() const { return folder_.file("node/identity/identity.pem"); }

  std::string user(const std::string& name, const std::string& role, const std::string& ttl) {
    const std::string file = folder_.file(name + ".pem");
    EXPECT_EQ(controller_.cli({"user", "create", name, "--role", role}).exit_code, 0);
    const ProgramOutcome made =
        controller_.cli({"user", "cert", name, "--ttl", ttl, "--out", file});
    EXPECT_EQ(made.exit_code, 0) << made.error;
    return file;
  }
  // Of an admin whose certificate is over.
  std::string expired() {
    std::string file = user("eve", "admin", "1s");
    const auto over = [&] {
      return run_program(
                 {.arguments = {"openssl", "x509", "-checkend", "0", "-noout", "-in", file}})
                 .exit_code != 0;
    };
    EXPECT_TRUE(eventually(over, 10s));
    return file;
  }

  // Certificates that say they are an admin of this cluster, made with nothing of ours.
  std::string self_signed() {
    const std::string file = folder_.file("self.pem");
    run(request_for(folder_.file("self"), {"-x509", "-days", "1"}));
    return joined_file("self", file);
  }
  std::string of_another_authority() {
    run({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-subj", "/CN=prod", "-days", "1", "-keyout", folder_.file("ca.key"), "-out",
         folder_.file("ca.crt")});
    run(request_for(folder_.file("other"), {"-x509", "-days", "1", "-CA", folder_.file("ca.crt"),
                                            "-CAkey", folder_.file("ca.key")}));
    return joined_file("other", folder_.file("other.pem"));
  }

  // A line for each call: its status, a tab, and what came of it.
  std::vector<std::string> ask(const std::string& identity, const Arguments& calls) {
    Arguments arguments = {kPython,
                           in_tree("tests/e2e/foreign_client.py"),
                           folder_.file(""),
                           controller_.tcp_server(),
                           folder_.file("node/identity/ca.pem"),
                           identity};
    arguments.insert(arguments.end(), calls.begin(), calls.end());
    const ProgramOutcome result =
        run_program({.arguments = std::move(arguments), .patience = Duration(60s)});
    EXPECT_EQ(result.exit_code, 0) << result.error;
    return lines_of(result.output);
  }

  std::string audit() const { return read(controller_.data_dir() + "/audit.log"); }
  // Lines of refusals with all of these in them.
  size_t refusals_with(const std::vector<std::string>& parts) const {
    const auto has_all = [&](const std::string& line) {
      return line.contains("\"allowed\":false") &&
             std::ranges::all_of(parts, [&](const auto& part) { return line.contains(part); });
    };
    return static_cast<size_t>(std::ranges::count_if(lines_of(audit()), has_all));
  }
  // All refusals, with those that a line stands for together.
  size_t refused_in_all() const {
    size_t sum = 0;
    for (const std::string& line : lines_of(audit())) {
      if (!line.contains("\"allowed\":false")) continue;
      const std::string key = "\"repeated\":";
      const size_t at = line.find(key);
      sum += at == std::string::npos ? 1 : std::stoul(line.substr(at + key.size()));
    }
    return sum;
  }

  TempDir folder_;
  ControllerProcess controller_;

 private:
  static Arguments request_for(const std::string& stem, const Arguments& more) {
    Arguments arguments = {"openssl",
                           "req",
                           "-newkey",
                           "ec",
                           "-pkeyopt",
                           "ec_paramgen_curve:P-256",
                           "-nodes",
                           "-subj",
                           "/CN=eve",
                           "-keyout",
                           stem + ".key",
                           "-out",
                           stem + ".crt",
                           "-addext",
                           "subjectAltName=URI:holdfast://prod/user/eve?roles=admin",
                           "-addext",
                           "basicConstraints=critical,CA:FALSE",
                           "-addext",
                           "extendedKeyUsage=clientAuth"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  std::string joined_file(const std::string& stem, const std::string& file) {
    std::ofstream(file) << read(folder_.file(stem + ".key")) << read(folder_.file(stem + ".crt"));
    return file;
  }
};

TEST_F(ForeignClient, WithACertificateEverythingIsThere) {
  const std::string ann = user("ann", "viewer", "1h");
  const std::vector<std::string> serving = {"OK\tSERVING"};
  ASSERT_TRUE(eventually([&] { return ask(ann, {"check"}) == serving; }, 20s));

  const std::vector<std::string> answers =
      ask(ann, {"whoami", "check", "watch-health", "service-config", "list:service",
                "list:service:2", "watch:service", "watch:service:s2:3"});
  const std::vector<std::string> reflected = ask(ann, {"reflect"});

  EXPECT_THAT(answers, ElementsAre("OK\tuser/ann of prod", "OK\tSERVING", "OK\tSERVING",
                                   AllOf(HasSubstr("OK\tpick_healthy "), HasSubstr("health=True")),
                                   "OK\ts1,s2,s3,s4,s5", "OK\ts1,s2 | s3,s4 | s5",
                                   "OK\tinit(service)", "OK\tinit(service) +s3 +s4 +s5"));
  EXPECT_THAT(reflected, ElementsAre("OK\tgrpc.health.v1.Health "
                                     "grpc.reflection.v1alpha.ServerReflection "
                                     "holdfast.v1.Events holdfast.v1.Identity holdfast.v1.Load "
                                     "holdfast.v1.PairControl holdfast.v1.Presence "
                                     "holdfast.v1.Resources holdfast.v1.ServiceConfigDiscovery "
                                     "holdfast.v1.Status"));
}

// What is said is the code's sentence and no more: nothing of a certificate, a file or a library.
TEST_F(ForeignClient, WrongCertificatesAreRefusedInOneSentenceAndAudited) {
  const Arguments calls = {
      "check",          "watch-health",          "service-config", "list:service",
      "get:service:s1", "create:service:x",      "watch:service",  "reflect",
      "whoami",         "announce:agent:edge-07"};
  const std::string over = "HF5003: the certificate has expired or is not valid yet";
  const std::string foreign = "HF5004: the certificate is not one of this cluster";
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {expired(), over}, {of_another_authority(), foreign}, {self_signed(), foreign}};

  for (const auto& [identity, sentence] : wrong) {
    const std::vector<std::string> answers = ask(identity, calls);

    ASSERT_EQ(answers.size(), calls.size());
    for (size_t i = 0; i < calls.size(); ++i) {
      EXPECT_EQ(answers[i], "UNAUTHENTICATED\t" + sentence) << calls[i] << " with " << identity;
    }
  }
  controller_.terminate();
  ASSERT_EQ(controller_.wait(10s), 0);
  EXPECT_EQ(refused_in_all(), wrong.size() * calls.size()) << audit();
  for (const char* verb : {"health", "service-config", "list", "get", "create", "watch",
                           "reflection", "whoami", "announce"}) {
    const std::string said = std::string("\"verb\":\"") + verb + "\"";
    for (const char* code : {"\"HF5003\"", "\"HF5004\""}) {
      EXPECT_GE(refusals_with({"\"actor\":\"nobody\"", "\"source\":\"127.0.0.1:", said, code}), 1u)
          << audit();
    }
  }
  EXPECT_EQ(identity::verify_audit(audit()), absl::OkStatus());
}

// Each alone, so that none stands for another: one line for each kind of stranger.
TEST_F(ForeignClient, EachKindOfStrangerLeavesALineInTheAudit) {
  const struct {
    std::string identity;
    std::string call;
    std::string verb;
    std::string answer;
  } strangers[] = {
      {"-", "list:service", "list",
       "UNAUTHENTICATED\tHF5002: without a certificate nobody may list service"},
      {expired(), "get:service:s1", "get",
       "UNAUTHENTICATED\tHF5003: the certificate has expired or is not valid yet"},
      {of_another_authority(), "watch:service", "watch",
       "UNAUTHENTICATED\tHF5004: the certificate is not one of this cluster"},
      {self_signed(), "create:service:x", "create",
       "UNAUTHENTICATED\tHF5004: the certificate is not one of this cluster"},
      {agent(), "list:user", "list", "PERMISSION_DENIED\tHF5001: agent/edge-07 may not list user"},
      {agent(), "create:service:x", "create",
       "PERMISSION_DENIED\tHF5001: agent/edge-07 may not create service"},
      {agent(), "announce:agent:edge-08", "announce",
       "PERMISSION_DENIED\tHF5001: agent/edge-07 may not announce for another node"},
  };
  for (const auto& stranger : strangers) {
    SCOPED_TRACE(stranger.answer);
    EXPECT_THAT(ask(stranger.identity, {stranger.call}), ElementsAre(stranger.answer));

    const bool known = stranger.identity == agent();
    const size_t code = stranger.answer.find("HF");
    EXPECT_EQ(refusals_with({known ? "\"actor\":\"agent/edge-07\"" : "\"actor\":\"nobody\"",
                             "\"verb\":\"" + stranger.verb + "\"",
                             "\"code\":\"" + stranger.answer.substr(code, 6) + "\""}),
              1u)
        << audit();
  }
  EXPECT_EQ(refused_in_all(), std::size(strangers)) << audit();
  EXPECT_EQ(identity::verify_audit(audit()), absl::OkStatus());
  EXPECT_THAT(ask(agent(), {"announce:agent:edge-07"}), ElementsAre("OK\tannounced edge-07"));
}

TEST_F(ForeignClient, WithoutACertificateNothingIsToldButHowToJoin) {
  const Arguments calls = {"check", "watch-health", "service-config", "reflect", "whoami"};

  const std::vector<std::string> answers = ask("-", calls);

  ASSERT_EQ(answers.size(), calls.size());
  for (const std::string& answer : answers) {
    EXPECT_TRUE(answer.starts_with("UNAUTHENTICATED\tHF5002: without a certificate nobody may "))
        << answer;
  }
}

}  // namespace
}  // namespace holdfast::test
