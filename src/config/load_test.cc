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

Sources from_file(std::string text) {
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
  const auto loaded = load(from_file("# nothing\n"));

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
  const auto loaded = load(from_file(R"(version: 1
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
  Sources sources = from_file(
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
  Sources sources = from_file(
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

}  // namespace
}  // namespace holdfast::config
