#include "config/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace holdfast::config {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Sources load_from_file(std::string text) {
  return {.file_path = "holdfast.yaml",
          .file_text = std::move(text),
          .environment = {},
          .flags = {},
          .machine = {{"controller.name", "host-1"}, {"controller.data_dir", "/var/lib/holdfast"}}};
}

std::string all_problems(const Sources& sources) {
  return problems_text(check(sources).problems, sources.file_text);
}

const Setting& setting(const Loaded& loaded, std::string_view path) {
  return *std::ranges::find(loaded.settings, path, [](const Setting& s) { return s.key->path; });
}

TEST(Load, AnEmptyFileGivesTheDefaults) {
  const auto loaded = load(load_from_file("# nothing\n"));

  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const ControllerConfig& config = loaded->config;
  EXPECT_EQ(config.version, 1u);
  EXPECT_EQ(config.log.level, "info");
  EXPECT_EQ(config.controller.name, "host-1");
  EXPECT_EQ(config.controller.data_dir, "/var/lib/holdfast");
  EXPECT_THAT(config.controller.listen, ElementsAre("127.0.0.1:7443"));
  EXPECT_EQ(config.controller.http.health_listen, "127.0.0.1:7480");
  EXPECT_EQ(config.store.type, StoreType::Sqlite);
  EXPECT_EQ(config.store.etcd.prefix, "/holdfast");
  EXPECT_EQ(config.identity.node_certificate_ttl, 24h);
  EXPECT_EQ(config.presence.agent_max_ttl, 6min);
  EXPECT_EQ(config.limits.message_bytes, 4u << 20);
  EXPECT_EQ(service_config_json(config.grpc_service_config),
            service_config_json(default_service_config()));
  EXPECT_THAT(loaded->warnings, IsEmpty());
}

TEST(Load, EveryKindOfValueIsReadFromTheFile) {
  const auto loaded = load(load_from_file(R"(version: 1
log: {level: debug, format: json}
controller:
  name: ctl-1
  listen: [0.0.0.0:7443, "[::]:7445"]
  hosts: [ctl-1.example, 10.0.0.7]
  http: {listen: "", health_listen: 127.0.0.1:0}
store:
  type: etcd
  etcd: {endpoints: 10.0.0.9:2379}
presence: {agent_ttl: 1m30s}
limits: {message_bytes: 1MiB, connections: 10}
audit: {max_bytes: 65536}
grpc_service_config:
  load_balancing_config: [{teleport_pick_healthy: {mode: pick_first}}]
)"));

  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const ControllerConfig& config = loaded->config;
  EXPECT_EQ(config.log.format, LogFormat::Json);
  EXPECT_THAT(config.controller.listen, ElementsAre("0.0.0.0:7443", "[::]:7445"));
  EXPECT_THAT(config.controller.hosts, ElementsAre("ctl-1.example", "10.0.0.7"));
  EXPECT_EQ(config.controller.http.listen, "");
  EXPECT_EQ(config.store.type, StoreType::Etcd);
  EXPECT_THAT(config.store.etcd.endpoints, ElementsAre("10.0.0.9:2379"));
  EXPECT_EQ(config.presence.agent_ttl, 90s);
  EXPECT_EQ(config.limits.message_bytes, 1u << 20);
  EXPECT_EQ(config.audit.max_bytes, 65536u);
  EXPECT_EQ(config.grpc_service_config.load_balancing_config(0).pick_healthy().mode(),
            "pick_first");
  EXPECT_EQ(advertised_address(config, 7443), "ctl-1.example:7443");
}

TEST(Load, AFlagWinsOverTheEnvironmentAndThatOverTheFile) {
  Sources sources = load_from_file(
      "log: {level: warn}\nstore: {type: sqlite}\npresence:\n  "
      "proxy_ttl: 20s\n");
  sources.environment = {{"HOLDFAST_LOG_LEVEL", "error"},
                         {"HOLDFAST_STORE_TYPE", "memory"},
                         {"HOLDFAST_CONTROLLER_LISTEN", "127.0.0.1:1, 127.0.0.1:2"}};
  sources.flags = {{"log.level", "debug"}};

  const auto loaded = load(sources);

  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->config.log.level, "debug");
  EXPECT_EQ(loaded->config.store.type, StoreType::Memory);
  EXPECT_THAT(loaded->config.controller.listen, ElementsAre("127.0.0.1:1", "127.0.0.1:2"));
  EXPECT_EQ(origin_text(setting(*loaded, "log.level").origin), "flag");
  EXPECT_EQ(origin_text(setting(*loaded, "store.type").origin), "env HOLDFAST_STORE_TYPE");
  EXPECT_EQ(origin_text(setting(*loaded, "presence.proxy_ttl").origin), "holdfast.yaml:4");
  EXPECT_EQ(origin_text(setting(*loaded, "audit.keep_files").origin), "default");
}

TEST(Load, EverythingThatIsWrongIsSaidAtOnceWithItsPlace) {
  Sources sources = load_from_file(
      "controller:\n  zonee: a\n  listen: localhost\nhealth:\n  recovery_window: 0s\n"
      "limits:\n  connections: many\n");
  sources.environment = {{"HOLDFAST_LOG_LEVEL", "wran"}};
  sources.flags = {{"store.typ", "etcd"}};

  EXPECT_EQ(all_problems(sources),
            "holdfast.yaml:2:3: error HF6004: unknown key \"zonee\" in controller; did you mean "
            "\"zone\"?\n"
            "    2 |   zonee: a\n"
            "      |   ^~~~~\n"
            "holdfast.yaml:3:11: error HF6010: controller.listen: \"localhost\" is not IP:PORT; "
            "use one such as 0.0.0.0:7443 or [::1]:7443\n"
            "    3 |   listen: localhost\n"
            "      |           ^~~~~~~~~\n"
            "holdfast.yaml:5:20: error HF6010: health.recovery_window: 0s is out of range; use 1ms "
            "to 1h\n"
            "    5 |   recovery_window: 0s\n"
            "      |                    ^~\n"
            "holdfast.yaml:7:16: error HF6010: limits.connections: \"many\" is not a whole number; "
            "write digits such as 8080\n"
            "    7 |   connections: many\n"
            "      |                ^~~~\n"
            "env HOLDFAST_LOG_LEVEL: error HF6010: log.level: \"wran\" is not one of its words; "
            "did you mean \"warn\"?\n"
            "flag store.typ: error HF6004: unknown key; did you mean \"type\"?\n"
            "6 errors\n");
  EXPECT_EQ(load(sources).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Load, RefusesWhatIsNotOneMapping) {
  EXPECT_THAT(all_problems(load_from_file("- a\n")),
              HasSubstr("1:1: error HF6010: a configuration must be a mapping, not a list"));
  EXPECT_THAT(all_problems(load_from_file("log: loud\n")),
              HasSubstr("1:6: error HF6010: log must be a mapping"));
  EXPECT_THAT(all_problems(load_from_file("version: 1\n---\nversion: 1\n")),
              HasSubstr("3:1: error HF6010: a second document"));
  EXPECT_THAT(all_problems(load_from_file("log: [\n")), HasSubstr("error HF6002"));
  EXPECT_THAT(all_problems(load_from_file("version: 2\n")), HasSubstr("2 is out of range; use 1"));
  EXPECT_THAT(all_problems(load_from_file("proxy: {generation: -1}\n")),
              HasSubstr("proxy.generation: -1 is out of range; use 0 to 9223372036854775807"));
}

TEST(Load, AMachineWithoutANameNeedsOne) {
  Sources sources = load_from_file("");
  sources.machine["controller.name"] = "";
  EXPECT_THAT(all_problems(sources), HasSubstr("error HF6010: controller.name is not given"));

  sources.machine["controller.name"] = "bad name";
  EXPECT_THAT(all_problems(sources), HasSubstr("error HF6010: controller.name is not given"));

  sources.flags = {{"controller.name", "good"}};
  EXPECT_EQ(all_problems(sources), "");
}

TEST(Load, AKeyGivenTwiceIsAnError) {
  EXPECT_THAT(all_problems(load_from_file("log: {level: info}\nlog: {level: warn}\n")),
              HasSubstr("holdfast.yaml:2:1: error HF6006: the key \"log\" is given twice"));
}

TEST(Load, AFileThatIsTooLargeIsNotRead) {
  EXPECT_THAT(all_problems(load_from_file(std::string(kMaxFileBytes + 1, '#'))),
              HasSubstr("error HF6003"));
}

TEST(Load, AWrongShapeIsSaidWithItsPlace) {
  EXPECT_THAT(all_problems(load_from_file("log:\n  level: [info]\n")),
              HasSubstr("2:10: error HF6010: log.level: must be a word, not a list"));
  EXPECT_THAT(all_problems(load_from_file("controller:\n  listen: {a: b}\n")),
              HasSubstr("2:11: error HF6010: controller.listen: must be a list of texts"));
  EXPECT_THAT(all_problems(load_from_file("controller:\n  listen: []\n")), HasSubstr("empty list"));
  EXPECT_THAT(all_problems(load_from_file("controller:\n  name: ''\n")), HasSubstr("is empty"));
  EXPECT_THAT(all_problems(load_from_file("controller:\n  hosts: [a, b, a]\n")),
              HasSubstr("2:17: error HF6010: controller.hosts: \"a\" is given twice"));
}

TEST(Load, BadDurationsAndSizesAreRefused) {
  for (const char* bad : {"5", "-1s", "1.5s", "s", "300000h", "''", "99999999999999999999s"}) {
    EXPECT_THAT(all_problems(load_from_file(std::string("presence: {proxy_ttl: ") + bad + "}")),
                HasSubstr("error HF6010: presence.proxy_ttl"))
        << bad;
  }
  for (const char* bad : {"-1", "1MB", "MiB", "1.5MiB", "99999999999GiB", "010KiB", "1KiB", "''"}) {
    EXPECT_THAT(all_problems(load_from_file(std::string("limits: {message_bytes: ") + bad + "}")),
                HasSubstr("error HF6010: limits.message_bytes"))
        << bad;
  }
}

TEST(Load, AKeyInTheWrongSectionIsFound) {
  EXPECT_THAT(all_problems(load_from_file("recovery_window: 3s\n")),
              HasSubstr("did you mean \"health.recovery_window\"?"));
  EXPECT_THAT(all_problems(load_from_file("controller.name: a\n")),
              HasSubstr("unknown key \"controller.name\"; write \"name\" below \"controller\""));
}

TEST(Load, MalformedJsonInTheEnvironmentIsAnErrorWithItsPosition) {
  Sources sources = load_from_file("");
  sources.environment = {{"HOLDFAST_GRPC_SERVICE_CONFIG", "{\"loadBalancingConfig\": nope}"}};

  EXPECT_THAT(
      all_problems(sources),
      HasSubstr("env HOLDFAST_GRPC_SERVICE_CONFIG: error HF6002: grpc_service_config: 1:25"));
}

TEST(Load, AWrongModeInTheFileIsABadValueAtItsPlace) {
  EXPECT_THAT(all_problems(load_from_file("grpc_service_config:\n  loadBalancingConfig:\n"
                                          "  - pick_healthy: {mode: fastest}\n")),
              HasSubstr("holdfast.yaml:3:26: error HF6010: grpc_service_config: "
                        "loadBalancingConfig[0].pick_healthy.mode: \"fastest\" is not a mode"));
}

TEST(Load, AServiceConfigMayBeJsonInTheFile) {
  const auto loaded = load(load_from_file("grpc_service_config: '{\"healthCheckConfig\":{}}'\n"));

  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->config.grpc_service_config.load_balancing_config_size(), 0);
}

TEST(Load, AVariableThatIsNearlyAKeysIsAWarning) {
  Sources sources = load_from_file("");
  sources.environment = {{"HOLDFAST_CONTROLER_LISTEN", "x"}, {"HOLDFAST_SERVER", "y"}};

  const auto loaded = load(sources);

  ASSERT_TRUE(loaded.ok()) << loaded.status();
  ASSERT_EQ(loaded->warnings.size(), 1u);
  EXPECT_THAT(loaded->warnings[0].message, HasSubstr("HOLDFAST_CONTROLLER_LISTEN"));
}

TEST(Load, TheVersionIsOfTheFileAlone) {
  Sources sources = load_from_file("");
  sources.environment = {{"HOLDFAST_VERSION", "0.3.1"}};

  EXPECT_EQ(all_problems(sources), "");
}

TEST(Effective, ListsEveryKeyWithItsSource) {
  Sources sources = load_from_file("controller:\n  zone: a\n");
  const auto loaded = load(sources);
  ASSERT_TRUE(loaded.ok());

  const std::string text = effective_text(*loaded, true);

  EXPECT_EQ(static_cast<size_t>(std::ranges::count(text, '\n')),
            static_cast<size_t>(std::ranges::count_if(
                keys(), [](const Key& key) { return key.is_for(Role::Controller); })));
  EXPECT_THAT(text, testing::ContainsRegex("controller.zone +a +holdfast.yaml:2\n"));
  EXPECT_THAT(text, testing::ContainsRegex("presence.agent_ttl +1m +default\n"));
  EXPECT_THAT(effective_text(*loaded, false), testing::Not(HasSubstr("default\n  ")));
}

TEST(Effective, HidesSecrets) {
  Key secret = *find_key("controller.zone");
  secret.is_secret = true;
  const Loaded loaded = {
      .config = {}, .settings = {{.key = &secret, .value = std::string("hush")}}, .warnings = {}};

  EXPECT_EQ(effective_text(loaded, true), "controller.zone  (set)  default\n");
}

TEST(Reload, TellsKeysThatNeedARestartFromOthers) {
  const auto before = load(load_from_file("log: {level: info}\n"));
  const auto after = load(load_from_file("log: {level: warn}\nlimits: {connections: 5}\n"));
  ASSERT_TRUE(before.ok() && after.ok());

  const Changes changed = changes(*before, *after);

  EXPECT_THAT(changed.live, ElementsAre("log.level"));
  EXPECT_THAT(changed.need_restart, ElementsAre("limits.connections"));
}

TEST(AdvertisedAddress, IsWhatOthersCanDial) {
  ControllerConfig config;
  config.controller.listen = {"[::1]:7443"};
  EXPECT_EQ(advertised_address(config, 7443), "[::1]:7443");
  config.controller.hosts = {"ctl-1.example"};
  EXPECT_EQ(advertised_address(config, 9), "ctl-1.example:9");
  config.controller.advertise = "nat.example:443";
  EXPECT_EQ(advertised_address(config, 9), "nat.example:443");
}

}  // namespace
}  // namespace holdfast::config
