#include "probe/registry_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::probe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kOne = R"([{"tcpSocket":{"port":1}}])";
constexpr const char* kTwo = R"([{"tcpSocket":{"port":2}}])";

uint16_t only_port(const Result<ChosenRegistry>& chosen) {
  if (!chosen.ok() || chosen->registry.probes().size() != 1) return 0;
  return chosen->registry.probes().front().port;
}

TEST(RegistrySource, OurVariableWinsOverKumasAndSaysSoIfTheyDiffer) {
  const auto chosen = choose_registry({.ours = kOne, .kumas = kTwo});

  EXPECT_EQ(only_port(chosen), 1);
  EXPECT_EQ(chosen->from, "HOLDFAST_DATAPLANE_PROBES");
  EXPECT_THAT(chosen->warnings, ElementsAre(HasSubstr("differ")));
  EXPECT_THAT(choose_registry({.ours = kOne, .kumas = kOne})->warnings, IsEmpty());
}

TEST(RegistrySource, KumasVariableIsEnough) {
  const auto chosen = choose_registry({.kumas = kTwo});

  EXPECT_EQ(only_port(chosen), 2);
  EXPECT_EQ(chosen->from, "KUMA_DATAPLANE_PROBES");
  EXPECT_THAT(chosen->warnings, IsEmpty());
  EXPECT_EQ(only_port(choose_registry({.ours = " \n", .kumas = kTwo})), 2);
}

TEST(RegistrySource, AFileWinsOverVariables) {
  const auto chosen = choose_registry({.file_name = "p.json", .file_text = kTwo, .ours = kOne});

  EXPECT_EQ(only_port(chosen), 2);
  EXPECT_EQ(chosen->from, "p.json");
  EXPECT_THAT(chosen->warnings, ElementsAre(HasSubstr("HOLDFAST_DATAPLANE_PROBES")));
}

TEST(RegistrySource, NothingAtAllIsAnEmptyRegistryAndAWarning) {
  const auto chosen = choose_registry({});

  ASSERT_TRUE(chosen.ok());
  EXPECT_THAT(chosen->registry.probes(), IsEmpty());
  EXPECT_EQ(chosen->from, "");
  EXPECT_THAT(chosen->warnings, ElementsAre(HasSubstr("no probe is registered")));
}

TEST(RegistrySource, AnErrorNamesTheSourceAndThePlaceInIt) {
  const std::string wrong = R"([{"tcpSocket":{"port":1}},{"tcpSocket":{"port":0}}])";

  const auto chosen = choose_registry({.ours = wrong, .kumas = kOne});

  ASSERT_EQ(chosen.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(chosen.status().message()),
              HasSubstr("HF7010: HOLDFAST_DATAPLANE_PROBES: probes[1].tcpSocket.port"));
  EXPECT_FALSE(choose_registry({.file_name = "p.json", .file_text = "", .ours = kOne}).ok());
}

}  // namespace
}  // namespace holdfast::probe
