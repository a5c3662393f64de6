// `holdfast install k8s --print` as an operator runs it, and its output read by programs that are
// not ours.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>

#include "e2e/injector_process.h"
#include "support/paths.h"
#include "support/temp_dir.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

ProgramOutcome run(std::vector<std::string> arguments, std::string input = "") {
  return run_program(
      ProgramRun{.arguments = std::move(arguments), .input = std::move(input), .patience = 60s});
}

bool has(const std::string& command) {
  return run({"sh", "-c", command + " >/dev/null 2>&1"}).exit_code == 0;
}

constexpr const char* kKinds[] = {
    "Namespace", "ServiceAccount",      "Secret",
    "Service",   "PodDisruptionBudget", "MutatingWebhookConfiguration"};

// It makes typed objects of what it reads, and says of each kind but the Deployment that it has no
// pods.
std::string read_by_kubectl(const std::string& manifests) {
  TempDir folder;
  std::ofstream(folder.file("all.yaml")) << manifests;
  const ProgramOutcome read =
      run({"env", "KUBECONFIG=/dev/null", "HOME=" + folder.path().string(), "kubectl", "set",
           "serviceaccount", "--local", "-f", folder.file("all.yaml"), "other", "-o", "json"});
  return read.output + read.error;
}

TEST(Install, KubectlReadsEveryDocumentIntoItsType) {
  if (!has("kubectl version --client")) GTEST_SKIP() << "there is no kubectl";
  const std::string manifests = print_manifests().output;

  const std::string read = read_by_kubectl(manifests);

  EXPECT_THAT(read, Not(HasSubstr("unable to decode")));
  EXPECT_THAT(read, HasSubstr("\"kind\": \"Deployment\""));
  for (const char* kind : kKinds) EXPECT_THAT(read, HasSubstr(fmt::format("*v1.{}", kind)));
  // The check itself can fail.
  const std::string broken =
      std::regex_replace(manifests, std::regex("replicas: 2"), "replicas: x");
  EXPECT_THAT(read_by_kubectl(broken), HasSubstr("unable to decode"));
}

TEST(Install, PythonReadsTheSameYaml) {
  if (!has("/usr/bin/python3 -c 'import yaml'")) GTEST_SKIP() << "there is no python3-yaml";
  const ProgramOutcome read = run(
      {"/usr/bin/python3", "-c",
       "import sys, yaml\n"
       "documents = list(yaml.safe_load_all(sys.stdin))\n"
       "print([d['kind'] for d in documents])\n"
       "pod = next(d for d in documents if d['kind'] == 'Deployment')['spec']['template']['spec']\n"
       "print(pod['volumes'][0]['secret']['defaultMode'])\n"
       "print(all(isinstance(e['value'], str) for e in pod['containers'][0]['env']))\n"},
      print_manifests().output);

  EXPECT_EQ(read.exit_code, 0) << read.error;
  EXPECT_THAT(read.output, HasSubstr("'Namespace', 'ServiceAccount', 'Secret', 'Deployment'"));
  EXPECT_THAT(read.output, HasSubstr("\n288\nTrue\n"));
}

TEST(Install, KubernetesModelsOrSchemasTakeThem) {
  if (!has("/usr/bin/python3 -c 'import kubernetes, yaml'")) {
    GTEST_SKIP() << "there is no python3-kubernetes to read the manifests with";
  }
  const ProgramOutcome read = run({"/usr/bin/python3", "-c",
                                   "import sys, json, yaml, kubernetes.client as k\n"
                                   "class Answer:\n"
                                   "    def __init__(self, d): self.data = json.dumps(d)\n"
                                   "for d in yaml.safe_load_all(sys.stdin):\n"
                                   "    k.ApiClient().deserialize(Answer(d), 'V1' + d['kind'])\n"},
                                  print_manifests().output);

  EXPECT_EQ(read.exit_code, 0) << read.error;
}

TEST(Install, SaysThatAKeyIsPrintedAndMakesAnotherEachTime) {
  const ProgramOutcome first = print_manifests();
  const ProgramOutcome second = print_manifests();

  EXPECT_EQ(first.exit_code, 0);
  EXPECT_THAT(first.error, HasSubstr("private key"));
  EXPECT_THAT(first.output, Not(HasSubstr("warning")));
  EXPECT_NE(first.output, second.output);
}

TEST(Install, GivenFilesAreUsedAndCheckedBeforeAnythingIsPrinted) {
  TempDir folder;
  const PrintedPair pair = printed_pair();
  std::ofstream(folder.file("ca")) << pair.ca;
  std::ofstream(folder.file("crt")) << pair.certificate;
  std::ofstream(folder.file("key")) << pair.key;
  std::ofstream(folder.file("other")) << printed_pair().key;
  const auto with = [&](const char* key) {
    return print_manifests({"--ca-file", folder.file("ca"), "--certificate-file",
                            folder.file("crt"), "--key-file", folder.file(key)});
  };

  const ProgramOutcome good = with("key");
  EXPECT_EQ(good.exit_code, 0) << good.error;
  EXPECT_THAT(good.output, HasSubstr("kind: Secret"));
  for (const char* wrong : {"other", "absent", "ca"}) {
    const ProgramOutcome bad = with(wrong);
    EXPECT_EQ(bad.exit_code, 65) << wrong << bad.error;
    EXPECT_EQ(bad.output, "") << wrong;
  }
}

// The line that is printed makes one that is taken.
TEST(Install, ACertificateThatNoApiServerBelievesIsRefusedWithItsNamesAndAWayOut) {
  TempDir folder;
  const PrintedPair pair = printed_pair();
  std::ofstream(folder.file("ca")) << pair.ca;
  std::ofstream(folder.file("crt")) << pair.certificate;
  std::ofstream(folder.file("key")) << pair.key;
  std::ofstream(folder.file("other")) << printed_pair().ca;
  const auto with = [&](const std::string& ca, const std::string& crt, const std::string& key) {
    return print_manifests({"--ca-file", folder.file(ca), "--certificate-file", folder.file(crt),
                            "--key-file", folder.file(key), "--namespace", "shop"});
  };

  const ProgramOutcome misnamed = with("ca", "crt", "key");
  EXPECT_EQ(misnamed.exit_code, 65);
  EXPECT_EQ(misnamed.output, "");
  EXPECT_THAT(misnamed.error, HasSubstr("HF7158"));
  EXPECT_THAT(misnamed.error, HasSubstr("it is not for holdfast-injector.shop.svc; it is for "
                                        "holdfast-injector.holdfast-system.svc, "));
  const size_t line = misnamed.error.find("openssl req");
  ASSERT_NE(line, std::string::npos) << misnamed.error;
  const std::string command = misnamed.error.substr(line, misnamed.error.find('\n', line) - line);
  EXPECT_EQ(run({"sh", "-c", "cd " + folder.path().string() + " && " + command}).exit_code, 0);
  const ProgramOutcome made = with("tls.crt", "tls.crt", "tls.key");
  EXPECT_EQ(made.exit_code, 0) << made.error;
  EXPECT_THAT(with("other", "tls.crt", "tls.key").error, HasSubstr("does not vouch for it"));
}

TEST(Install, AWrongSecretIsNamedByItsOption) {
  TempDir folder;
  std::ofstream(folder.file("ca")) << printed_pair().ca;
  for (const char* name : {"Not-One", "a b", ".a", "a_b"}) {
    const ProgramOutcome refused =
        print_manifests({"--ca-file", folder.file("ca"), "--existing-secret", name});
    EXPECT_EQ(refused.exit_code, 64) << name;
    EXPECT_THAT(refused.error, HasSubstr("HF7156")) << name;
    EXPECT_THAT(refused.error, HasSubstr("--existing-secret: ")) << name;
  }
  EXPECT_EQ(print_manifests({"--ca-file", folder.file("ca"), "--existing-secret", "a.b"}).exit_code,
            0);
}

TEST(Install, AnExistingSecretIsReferredToAndNoKeyIsPrinted) {
  TempDir folder;
  std::ofstream(folder.file("ca")) << printed_pair().ca;

  const ProgramOutcome printed =
      print_manifests({"--ca-file", folder.file("ca"), "--existing-secret", "issued"});

  EXPECT_EQ(printed.exit_code, 0) << printed.error;
  EXPECT_THAT(printed.output, HasSubstr("secretName: \"issued\""));
  EXPECT_THAT(printed.output, Not(HasSubstr("tls.key: ")));
  EXPECT_EQ(printed.error, "");
}

TEST(Install, WrongOptionsAreUsageErrors) {
  const std::vector<std::vector<std::string>> rows = {{"--namespace", "Not-One"},
                                                      {"--namespace", "kube-system"},
                                                      {"--image", "a b"},
                                                      {"--image", ""},
                                                      {"--failure-policy", "maybe"},
                                                      {"--timeout-seconds", "31"},
                                                      {"--replicas", "0"},
                                                      {"--days", "0"},
                                                      {"--certificate-file", "x"},
                                                      {"--existing-secret", "x"},
                                                      {"--ca-file", "x"}};
  for (const std::vector<std::string>& row : rows) {
    const ProgramOutcome refused = print_manifests(row);
    EXPECT_EQ(refused.exit_code, 64) << row[0] << " " << row[1] << refused.error;
    EXPECT_THAT(refused.error, HasSubstr("HF7156")) << row[0];
    EXPECT_EQ(refused.output, "") << row[0];
  }
  const ProgramOutcome bare = run({built("holdfast"), "install", "k8s"});
  EXPECT_EQ(bare.exit_code, 64);
  EXPECT_THAT(bare.error, HasSubstr("--print"));
}

}  // namespace
}  // namespace holdfast::test
