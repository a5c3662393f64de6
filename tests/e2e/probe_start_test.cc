// How the probe handler starts, or says why it does not.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "e2e/probe_app.h"
#include "e2e/probe_process.h"
#include "support/child_process.h"
#include "support/free_ports.h"
#include "support/paths.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr int kExitFailed = 1;
constexpr int kExitBadConfig = 78;

ProgramOutcome run_probe(const std::string& probes, std::vector<std::string> arguments) {
  std::vector<std::string> all = {"env", "HOLDFAST_DATAPLANE_PROBES=" + probes, built("holdfastd"),
                                  "probe"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return run_program(ProgramRun{.arguments = all});
}

TEST(ProbeStart, AWrongListIsRefusedWithThePlaceInIt) {
  const struct {
    const char* json;
    const char* said;
  } kCases[] = {
      {R"([{"tcpSocket":{"port":1}},{"httpGet":{"path":"/","port":0}}])", "probes[1].httpGet.port"},
      {R"([{"httpGet":{"path":"/","port":"web"}}])", "probes[0].httpGet.port"},
      {R"([{"httpGet":{"path":"/","port":65536}}])", "probes[0].httpGet.port"},
      {R"([{"exec":{"command":["true"]}}])", "probes[0]"},
      {R"([{"tcpSocket":{"port":1}},])", "HOLDFAST_DATAPLANE_PROBES"},
      {R"({"a":1})", "HOLDFAST_DATAPLANE_PROBES"},
  };
  for (const auto& [json, said] : kCases) {
    const ProgramOutcome run = run_probe(json, {"--listen", "127.0.0.1:0"});
    EXPECT_EQ(run.exit_code, kExitBadConfig) << json;
    EXPECT_THAT(run.error, HasSubstr("HF7010")) << json;
    EXPECT_THAT(run.error, HasSubstr(said)) << json;
    EXPECT_THAT(run.error, HasSubstr("HOLDFAST_DATAPLANE_PROBES")) << json;
  }
}

TEST(ProbeStart, APortThatIsTakenIsNamedWithWhatToDo) {
  const ProbeApp taken;

  const ProgramOutcome run =
      run_probe("[]", {"--set", fmt::format("probe.listen=127.0.0.1:{}", taken.port())});

  EXPECT_EQ(run.exit_code, kExitFailed);
  EXPECT_THAT(run.error, HasSubstr(fmt::format("127.0.0.1:{}", taken.port())));
  EXPECT_THAT(run.error, HasSubstr("HF1106"));
  EXPECT_THAT(run.error, HasSubstr("--listen"));
  EXPECT_THAT(run.error, HasSubstr("holdfast.dev/virtual-probes-port"));
}

TEST(ProbeStart, AFileThatIsNotThereIsNamed) {
  const ProgramOutcome run = run_probe("", {"--registry-file", "/nowhere/probes.json"});

  EXPECT_EQ(run.exit_code, kExitBadConfig);
  EXPECT_THAT(run.error, HasSubstr("HF7052"));
  EXPECT_THAT(run.error, HasSubstr("/nowhere/probes.json"));
}

TEST(ProbeStart, WithoutAnyProbeItServesItsOwnHealth) {
  const ProbeHandler handler(ProbeHandlerOptions{});

  EXPECT_EQ(handler.get("/healthz").status, 200);
  EXPECT_EQ(handler.get("/8080/healthz").status, 404);
}

TEST(ProbeStart, HelpTeachesTheFirstSteps) {
  const ProgramResult help = run_program({built("holdfastd"), "probe", "--help"}, 10s);

  EXPECT_EQ(help.exit_code, 0);
  for (const char* word : {"--listen", "--registry-file", "HOLDFAST_DATAPLANE_PROBES", "curl",
                           "httpGet", "tcpSocket", "grpc", "SIGHUP", "docs/probes.md"}) {
    EXPECT_THAT(help.output, HasSubstr(word));
  }
}

}  // namespace
}  // namespace holdfast::test
