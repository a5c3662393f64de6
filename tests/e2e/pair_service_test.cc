// Two real controllers as a pair, on loopback: what one half does when the other dies, and what
// each says to clients.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "e2e/api_client.h"
#include "e2e/loopback_pair.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "integration/lrs_server.h"
#include "support/eventually.h"
#include "support/http_client.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

v1::Resource service(const std::string& name) {
  v1::Resource resource;
  resource.mutable_metadata()->set_name(name);
  v1::ServicePort& port = *resource.mutable_service()->add_ports();
  port.set_name("http");
  port.set_port(8080);
  port.set_protocol(v1::PROTOCOL_HTTP);
  return resource;
}

std::string text_of(const grpc::string_ref& text) {
  return {text.data(), text.size()};
}

// What the trailing metadata says of a refused call; empty if it says nothing.
std::string trailer(const grpc::ClientContext& context, const std::string& key) {
  const auto found = context.GetServerTrailingMetadata().find(key);
  return found == context.GetServerTrailingMetadata().end() ? "" : text_of(found->second);
}

struct Refused {
  grpc::Status status;
  std::string role;
  std::string active;
  std::string epoch;
};
Refused ask(ApiClient& client, uint64_t known_epoch = 0) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + 10s);
  if (known_epoch != 0) context.AddMetadata("holdfast-epoch", std::to_string(known_epoch));
  v1::GetRequest request;
  request.set_kind("service");
  request.set_name("web");
  v1::Resource response;
  Refused refused;
  refused.status = client.resources().Get(&context, request, &response);
  refused.role = trailer(context, "holdfast-role");
  refused.active = trailer(context, "holdfast-active");
  const auto epoch = context.GetServerInitialMetadata().find("holdfast-epoch");
  if (epoch != context.GetServerInitialMetadata().end()) refused.epoch = text_of(epoch->second);
  return refused;
}

bool writes(ApiClient& client, const std::string& name) {
  return client.upsert(service(name)).status.ok();
}

TEST(PairProcesses, WithAWitnessTheOtherHalfServesAfterADeathAndNothingIsLost) {
  LrsServer other;  // is told about load by the half that serves, and by nobody else
  LoopbackPair pair({.mode = "witness", .more = {"--set", "load.lrs_server=" + other.address()}});
  other.start({"*"});
  ApiClient first(pair.primary().tcp_server(), pair.primary().admin());
  ASSERT_TRUE(writes(first, "web")) << pair.describe();
  EXPECT_TRUE(eventually([&] { return !other.nodes().empty(); }, 30s));
  EXPECT_THAT(other.nodes(), testing::ElementsAre("controller/primary"));

  pair.primary().kill();
  ApiClient second(pair.backup().tcp_server(), pair.primary().admin());
  const Time killed = SystemClock().now();
  EXPECT_TRUE(eventually([&] { return ask(second).status.ok(); }, 20s)) << pair.describe();
  EXPECT_LT(SystemClock().now() - killed, 12s);
  EXPECT_TRUE(writes(second, "more")) << pair.describe();
  EXPECT_TRUE(eventually([&] { return other.nodes().contains("controller/backup"); }, 20s));

  pair.start_primary();
  EXPECT_TRUE(LoopbackPair::becomes(pair.primary(), v1::PAIR_STATE_PASSIVE)) << pair.describe();
  EXPECT_TRUE(pair.becomes_in_sync(pair.backup())) << pair.describe();
  pair.backup().kill();
  EXPECT_TRUE(eventually([&] { return ask(first).status.ok(); }, 20s)) << pair.describe();
  EXPECT_TRUE(first.get("service", "more").status.ok());
}

TEST(PairProcesses, APassiveHalfSendsClientsToTheActiveOne) {
  LoopbackPair pair("witness");
  ApiClient passive(pair.backup().tcp_server(), pair.primary().admin());

  // It knows who calls as soon as it has read what it was given.
  Refused refused = ask(passive);
  EXPECT_TRUE(eventually(
      [&] {
        EXPECT_EQ(refused.status.error_code(), grpc::StatusCode::UNAVAILABLE)
            << refused.status.error_message();
        refused = ask(passive);
        return refused.status.error_message().starts_with("HF4101");
      },
      20s));
  EXPECT_TRUE(refused.status.error_message().starts_with("HF4101"))
      << refused.status.error_message();
  EXPECT_EQ(refused.role, "passive");
  EXPECT_EQ(refused.active, pair.primary().tcp_server());
  EXPECT_NE(refused.epoch, "");

  const auto http = [&](const char* what) {
    return HttpClient("unix:" + pair.backup().data_dir() + "/http.sock").ask(what);
  };
  const Reply answer = http("GET /v1/service");
  EXPECT_EQ(answer.status, 503);
  EXPECT_TRUE(answer.head.contains("Holdfast-Role: passive")) << answer.head;
  EXPECT_TRUE(answer.head.contains("Holdfast-Active: " + pair.primary().tcp_server()));
  EXPECT_TRUE(answer.head.contains("Holdfast-Epoch: ")) << answer.head;
  EXPECT_TRUE(answer.body.contains("HF4101")) << answer.body;
  EXPECT_EQ(http("GET /healthz").status, 200);
  EXPECT_EQ(http("GET /readyz").status, 503);
  // Health is told once a second.
  EXPECT_TRUE(eventually([&] { return http("GET /readyz").body.contains("HF4101"); }, 10s))
      << http("GET /readyz").body;

  EXPECT_TRUE(eventually(
      [&] {
        const ProgramOutcome both = pair.primary().cli({"get", "controllers"});
        return both.output.contains("primary") && both.output.contains("backup");
      },
      10s));
}

// A node obeys nobody who does not name its epoch, and looks at health first of all.
TEST(PairProcesses, AHalfNamesItsEpochToWhoWatchesItsHealth) {
  LoopbackPair pair("best-effort");
  for (const ControllerProcess* half : {&pair.half(true), &pair.half(false)}) {
    ApiClient client(half->tcp_server(), pair.primary().admin());
    const auto stub = grpc::health::v1::Health::NewStub(client.channel());
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + 20s);
    const auto stream = stub->Watch(&context, grpc::health::v1::HealthCheckRequest());
    grpc::health::v1::HealthCheckResponse first;
    ASSERT_TRUE(stream->Read(&first)) << stream->Finish().error_message();
    EXPECT_TRUE(context.GetServerInitialMetadata().contains("holdfast-epoch"));
    context.TryCancel();
  }
}

TEST(PairProcesses, BothHalvesSayThatTheyAreInSync) {
  LoopbackPair pair("sync");
  const auto says = [](const ControllerProcess& half) {
    return half.cli({"ha", "status"}).output.contains("mode sync, in sync");
  };
  EXPECT_TRUE(eventually([&] { return says(pair.primary()) && says(pair.backup()); }, 10s))
      << pair.describe();
}

// The passive one is named first; it is told apart by the command, not by chance.
TEST(PairProcesses, ASwitchoverIsAskedOfTheActiveHalf) {
  LoopbackPair pair("witness");
  const TempDir folder;
  const rpc::TlsOptions& admin = pair.primary().admin();
  std::ofstream(folder.file("ca.pem")) << admin.ca_pem;
  std::ofstream(folder.file("identity.pem")) << admin.private_key_pem << admin.certificate_pem;
  std::filesystem::permissions(folder.file("identity.pem"), std::filesystem::perms::owner_read);
  std::ofstream(folder.file("profile.yaml"))
      << "server: " << pair.backup().tcp_server() << "\ncluster: test\nuser: test-admin\n";

  const ProgramOutcome switched =
      run_program({.arguments = {HF_BIN_DIR "/holdfast", "--profile", folder.path().string(), "ha",
                                 "switchover"}});

  EXPECT_EQ(switched.exit_code, 0) << switched.error << pair.describe();
  EXPECT_TRUE(switched.output.starts_with("backup is active")) << switched.output;
  const ProgramOutcome local = pair.primary().cli({"ha", "switchover"});
  EXPECT_NE(local.exit_code, 0);
  EXPECT_TRUE(local.error.contains("ask the one at " + pair.backup().tcp_server())) << local.error;
}

// It was silent for so long that writes were given up; the pair is well as soon as it is back,
// since there is nobody else to go to.
TEST(PairProcesses, InSyncModeClientsAreServedAtOnceWhenTheOtherHalfIsBack) {
  LoopbackPair pair("sync");
  ApiClient client(pair.primary().tcp_server(), pair.primary().admin());
  ASSERT_TRUE(writes(client, "web")) << pair.describe();
  pair.backup().freeze();
  const auto lost = [&] { return pair.primary().log().contains("HF1105"); };
  EXPECT_TRUE(eventually(
      [&] {
        static_cast<void>(writes(client, "waits"));
        return lost();
      },
      60s))
      << pair.primary().log();
  pair.backup().thaw();
  const auto ready = [&] {
    return HttpClient("unix:" + pair.primary().data_dir() + "/http.sock").ask("GET /readyz").status;
  };
  EXPECT_TRUE(eventually([&] { return writes(client, "again"); }, 20s)) << pair.describe();
  EXPECT_TRUE(eventually([&] { return ready() == 200; }, 30s)) << pair.primary().log();
  EXPECT_FALSE(pair.primary().log().contains("recovering")) << pair.primary().log();
}

TEST(PairProcesses, WhoKnowsALaterEpochIsRefused) {
  LoopbackPair pair("best-effort");
  ApiClient client(pair.primary().tcp_server(), pair.primary().admin());
  ASSERT_TRUE(writes(client, "web"));
  EXPECT_TRUE(ask(client, 1).status.ok());
  EXPECT_TRUE(ask(client, 1000).status.error_message().starts_with("HF4301"));
}

TEST(PairProcesses, ASwitchoverMovesControlAndLosesNothing) {
  LoopbackPair pair("witness");
  ApiClient first(pair.primary().tcp_server(), pair.primary().admin());
  ASSERT_TRUE(writes(first, "web"));

  const auto stub = v1::PairControl::NewStub(rpc::make_channel(pair.primary().unix_server(), {}));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + 20s);
  v1::SwitchOverResponse done;
  const grpc::Status status = stub->SwitchOver(&context, v1::SwitchOverRequest(), &done);
  ASSERT_TRUE(status.ok()) << status.error_message() << pair.describe();
  EXPECT_EQ(done.active(), "backup");

  ApiClient second(pair.backup().tcp_server(), pair.primary().admin());
  EXPECT_TRUE(ask(second).status.ok()) << pair.describe();
  EXPECT_TRUE(LoopbackPair::becomes(pair.primary(), v1::PAIR_STATE_PASSIVE));
}

TEST(PairProcesses, InSyncModeOneAloneAcknowledgesNothing) {
  LoopbackPair pair("sync");
  ApiClient client(pair.primary().tcp_server(), pair.primary().admin());
  ASSERT_TRUE(writes(client, "web")) << pair.describe();

  pair.backup().kill();
  EXPECT_FALSE(writes(client, "alone"));
  pair.start_backup();
  EXPECT_TRUE(eventually([&] { return writes(client, "together"); }, 20s)) << pair.describe();
}

TEST(PairProcesses, TheWitnessKeepsItsRecordOverADeathAndRefusesADamagedOne) {
  LoopbackPair pair("witness");
  const uint64_t epoch = LoopbackPair::status_of(pair.primary()).record().epoch();
  EXPECT_GT(epoch, 0U);
  pair.witness().kill();
  pair.start_witness();
  ASSERT_TRUE(
      eventually([&] { return pair.log_of_witness().contains("keeping the record"); }, 10s));
  EXPECT_TRUE(pair.log_of_witness().contains(std::to_string(epoch))) << pair.log_of_witness();

  pair.witness().kill();
  std::ofstream(pair.record_file(), std::ios::app) << "x";
  pair.start_witness();
  EXPECT_NE(pair.witness().wait(10s), 0);
  EXPECT_TRUE(pair.log_of_witness().contains("HF4204")) << pair.log_of_witness();
}

}  // namespace
}  // namespace holdfast::test
