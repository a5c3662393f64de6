// The keys of `holdfastd injector`: defaults, limits, and what must be given.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/load.h"

namespace holdfast::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Sources injector_config_from_file(const std::string& yaml) {
  return {
      .file_path = "holdfast.yaml",
      .file_text = yaml,
      .environment = {},
      .flags = {},
      .machine = {{"controller.name", "n"}, {"controller.data_dir", "/d"}, {"node.data_dir", "/d"}},
      .role = Role::Injector};
}

std::string injector_config_problems(const std::string& injector) {
  const Checked checked = check(injector_config_from_file("injector: {" + injector + "}"));
  return problems_text(checked.problems, "");
}

constexpr const char* kPair = "certificate_file: /c, key_file: /k";

TEST(InjectorConfig, ListensForApiServersAndLeavesTheClusterAlone) {
  const auto loaded = load(injector_config_from_file(std::string("injector: {") + kPair + "}"));

  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const InjectorSection& injector = loaded->config.injector;
  EXPECT_EQ(injector.listen, "[::]:9443");
  EXPECT_EQ(injector.health_listen, "");
  EXPECT_TRUE(injector.enabled);
  EXPECT_EQ(injector.port, 9000u);
  EXPECT_EQ(injector.sidecar, "holdfast-sidecar");
  EXPECT_THAT(injector.skip_namespaces,
              ElementsAre("kube-system", "kube-public", "kube-node-lease"));
  EXPECT_EQ(injector.limits.reviews, 64u);
}

TEST(InjectorConfig, NeedsACertificateAndItsKey) {
  EXPECT_EQ(injector_config_problems(kPair), "");
  for (const char* missing : {"", "certificate_file: /c", "key_file: /k"}) {
    EXPECT_THAT(injector_config_problems(missing), HasSubstr("injector.key_file")) << missing;
  }
}

TEST(InjectorConfig, WrongValuesAreRefused) {
  const std::pair<const char*, const char*> rows[] = {
      {"port: 0", "injector.port"},
      {"port: 65536", "injector.port"},
      {"listen: everywhere", "injector.listen"},
      {"sidecar: 'a b'", "injector.sidecar"},
      {"enabled: perhaps", "injector.enabled"},
      {"limits: {reviews: 0}", "injector.limits.reviews"},
      {"health_listen: 127.0.0.1:9443", "injector.health_listen"}};
  for (const auto& [text, key] : rows) {
    EXPECT_THAT(injector_config_problems(std::string(kPair) + ", " + text), HasSubstr(key)) << text;
  }
}

TEST(InjectorConfig, IsNoTroubleOfOtherRoles) {
  Sources sources = injector_config_from_file("");
  sources.role = Role::Agent;

  EXPECT_TRUE(check(sources).problems.empty());
}

}  // namespace
}  // namespace holdfast::config
