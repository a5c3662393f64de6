// Two real controllers as a pair, on loopback: what one half does when the other dies, and what
// each says to clients.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.pb.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include "e2e/api_client.h"
#include "e2e/loopback_pair.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "grpc/reflection/v1alpha/reflection.grpc.pb.h"
#include "identity/certificate.h"
#include "integration/lrs_server.h"
#include "resource/registry.h"
#include "support/eventually.h"
#include "support/free_ports.h"
#include "support/http_client.h"
#include "support/paths.h"

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

// The methods of a service in a file of descriptors, as "/holdfast.v1.Status/GetStatus".
void add_methods(const std::string& file_bytes, const std::string& service,
                 std::vector<std::string>& methods) {
  google::protobuf::FileDescriptorProto file;
  if (!file.ParseFromString(file_bytes)) return;
  for (const auto& each : file.service()) {
    if (file.package() + "." + each.name() != service) continue;
    for (const auto& method : each.method()) methods.push_back("/" + service + "/" + method.name());
  }
}

// Every method of every service that is served there.
std::vector<std::string> methods_served(const ApiClient& client) {
  using grpc::reflection::v1alpha::ServerReflection;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + 20s);
  const auto stub = ServerReflection::NewStub(client.channel());
  const auto stream = stub->ServerReflectionInfo(&context);
  grpc::reflection::v1alpha::ServerReflectionRequest request;
  grpc::reflection::v1alpha::ServerReflectionResponse response;
  const auto asked = [&] { return stream->Write(request) && stream->Read(&response); };
  request.set_list_services("*");
  EXPECT_TRUE(asked());
  const auto services = response.list_services_response().service();
  std::vector<std::string> methods;
  for (const auto& service : services) {
    request.set_file_containing_symbol(service.name());
    EXPECT_TRUE(asked()) << service.name();
    const size_t before = methods.size();
    for (const std::string& bytes : response.file_descriptor_response().file_descriptor_proto()) {
      add_methods(bytes, service.name(), methods);
    }
    EXPECT_GT(methods.size(), before) << service.name();
  }
  stream->WritesDone();
  static_cast<void>(stream->Finish());
  return methods;
}

// A call of whichever shape with a request that says nothing, but to watch one must say what; a
// stream is ended when it has answered.
Refused ask_nothing(const ApiClient& client, const std::string& method) {
  const bool watches = method == "/holdfast.v1.Events/Watch";
  const grpc::Slice said(watches ? watch_request({"service"}).SerializeAsString() : std::string());
  grpc::GenericStub stub(client.channel());
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + 20s);
  const auto call = stub.PrepareCall(&context, method, &queue);
  const auto is_done = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  const grpc::ByteBuffer request(&said, 1);
  grpc::ByteBuffer response;
  call->StartCall(nullptr);
  if (is_done()) {
    call->WriteLast(request, grpc::WriteOptions(), nullptr);
    static_cast<void>(is_done());
    call->Read(&response, nullptr);
    if (is_done()) context.TryCancel();
  }
  Refused refused;
  call->Finish(&refused.status, nullptr);
  static_cast<void>(is_done());
  queue.Shutdown();
  refused.role = trailer(context, "holdfast-role");
  refused.active = trailer(context, "holdfast-active");
  return refused;
}

// Someone with a node's certificate: it may do what no user may.
ApiClient as_witness(LoopbackPair& pair, const ControllerProcess& at) {
  const std::string folder =
      std::filesystem::path(pair.record_file()).parent_path().string() + "/identity/";
  const auto text = [&](const char* name) {
    std::ifstream file(folder + name);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const std::string identity = text("identity.pem");
  return ApiClient(at.tcp_server(),
                   rpc::TlsOptions{.ca_pem = text("ca.pem"),
                                   .certificate_pem = identity,
                                   .private_key_pem = identity,
                                   .server_name = std::string(identity::kControllerServerName)});
}

// Those are for either half: how it is, where to go, what operators do about the pair.
bool is_for_either(const std::string& method) {
  const std::string ours = "/holdfast.v1.";
  return method.starts_with("/grpc.health.") || method.starts_with("/grpc.reflection.") ||
         method.starts_with(ours + "PairControl/") ||
         method == ours + "ServiceConfigDiscovery/GetServiceConfig" ||
         method == ours + "Status/GetStatus";
}

TEST(PairProcesses, APassiveHalfServesNoCallOfAnyService) {
  LoopbackPair pair("witness");
  ASSERT_TRUE(LoopbackPair::becomes(pair.backup(), v1::PAIR_STATE_PASSIVE)) << pair.describe();
  ApiClient local(pair.backup().unix_server());
  ApiClient node = as_witness(pair, pair.backup());
  const std::vector<std::string> methods = methods_served(local);
  EXPECT_GT(methods.size(), 25U);
  EXPECT_THAT(methods, testing::Contains("/holdfast.v1.Events/Watch"));
  size_t gated = 0;
  for (const std::string& method : methods) {
    // What the halves say to each other is no client's business.
    if (is_for_either(method) || method.starts_with("/holdfast.v1.Pair/")) continue;
    SCOPED_TRACE(method);
    Refused refused = ask_nothing(local, method);
    if (refused.status.error_code() == grpc::StatusCode::PERMISSION_DENIED) {
      refused = ask_nothing(node, method);
    }
    EXPECT_EQ(refused.status.error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_THAT(refused.status.error_message(), testing::StartsWith("HF4101"));
    EXPECT_EQ(refused.role, "passive");
    EXPECT_EQ(refused.active, pair.primary().tcp_server());
    gated += 1;
  }
  EXPECT_GT(gated, 15U);
}

TEST(PairProcesses, APassiveHalfServesNothingOverHttp) {
  LoopbackPair pair("witness");
  ASSERT_TRUE(LoopbackPair::becomes(pair.backup(), v1::PAIR_STATE_PASSIVE)) << pair.describe();
  std::vector<std::string> all = {"GET /v1/watch",  "GET /v1/whoami",  "GET /v1/load",
                                  "GET /v1/caches", "GET /v1/tunnels", "GET /v1/drain",
                                  "POST /v1/drain"};
  for (const resource::KindInfo& kind : resource::all_kinds()) {
    const std::string path = " /v1/" + std::string(kind.name);
    for (const char* method : {"GET", "POST"}) all.push_back(method + path);
    for (const char* method : {"GET", "PUT", "DELETE"}) all.push_back(method + path + "/web");
  }
  for (const std::string& what : all) {
    SCOPED_TRACE(what);
    const Reply answer =
        HttpClient("unix:" + pair.backup().data_dir() + "/http.sock").ask(what, "{}");
    EXPECT_EQ(answer.status, 503) << answer.body;
    EXPECT_THAT(answer.head, testing::HasSubstr("Holdfast-Role: passive"));
    EXPECT_THAT(answer.head, testing::HasSubstr("Holdfast-Active: " + pair.primary().tcp_server()));
    EXPECT_THAT(answer.body, testing::HasSubstr("HF4101"));
  }
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

  const ProgramOutcome switched = run_program(
      {.arguments = {built("holdfast"), "--profile", folder.path().string(), "ha", "switchover"}});

  EXPECT_EQ(switched.exit_code, 0) << switched.error << pair.describe();
  EXPECT_TRUE(switched.output.starts_with("backup is active")) << switched.output;
  const ProgramOutcome local = pair.primary().cli({"ha", "switchover"});
  EXPECT_NE(local.exit_code, 0);
  EXPECT_TRUE(local.error.contains("ask the one at " + pair.backup().tcp_server())) << local.error;
}

// It was silent for so long that writes were given up; the pair is well as soon as it is back,
// since there is nobody else to go to. Nightly: a machine so busy that a heartbeat takes two
// seconds makes the process recover for that reason.
TEST(PairProcessesNightly, InSyncModeClientsAreServedAtOnceWhenTheOtherHalfIsBack) {
  LoopbackPair pair("sync");
  ApiClient client(pair.primary().tcp_server(), pair.primary().admin());
  ASSERT_TRUE(writes(client, "web")) << pair.describe();
  const auto ready = [&] {
    return HttpClient("unix:" + pair.primary().data_dir() + "/http.sock").ask("GET /readyz");
  };
  pair.backup().freeze();
  const auto lost = [&] { return ready().body.contains("HF1105"); };
  EXPECT_TRUE(eventually(
      [&] {
        static_cast<void>(writes(client, "waits"));
        return lost();
      },
      60s))
      << pair.primary().log();
  pair.backup().thaw();
  EXPECT_TRUE(eventually([&] { return writes(client, "again"); }, 20s)) << pair.describe();
  EXPECT_TRUE(eventually([&] { return ready().status == 200; }, 30s)) << pair.primary().log();
  EXPECT_FALSE(pair.primary().log().contains("recovering")) << pair.primary().log();
}

// Nobody asks it anything and no node announces itself: what it says changes by itself.
TEST(PairProcesses, AHalfThatNobodyConfirmsSaysThatItDoesNotServe) {
  using Said = grpc::health::v1::HealthCheckResponse;
  LoopbackPair pair("sync");
  const auto ready = [&] {
    return HttpClient("unix:" + pair.primary().data_dir() + "/http.sock").ask("GET /readyz");
  };
  ASSERT_TRUE(eventually([&] { return ready().status == 200; }, 30s)) << ready().body;
  ApiClient client(pair.primary().tcp_server(), pair.primary().admin());
  const auto stub = grpc::health::v1::Health::NewStub(client.channel());
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + 15s);
  const auto stream = stub->Watch(&context, grpc::health::v1::HealthCheckRequest());
  Said said;
  ASSERT_TRUE(stream->Read(&said));
  ASSERT_EQ(said.status(), Said::SERVING);

  pair.backup().freeze();
  ASSERT_TRUE(stream->Read(&said)) << "nothing new is said: " << ready().body;
  EXPECT_EQ(said.status(), Said::NOT_SERVING);
  const Reply unready = ready();
  EXPECT_EQ(unready.status, 503);
  EXPECT_THAT(unready.body, testing::HasSubstr("HF4107"));

  pair.backup().thaw();
  ASSERT_TRUE(stream->Read(&said)) << "nothing new is said: " << ready().body;
  EXPECT_EQ(said.status(), Said::SERVING);
  EXPECT_EQ(ready().status, 200) << ready().body;
  context.TryCancel();
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

// A real agent of a pair, and what it keeps of its epochs.
class AgentOfPair {
 public:
  explicit AgentOfPair(LoopbackPair& pair)
      : servers_(pair.primary().tcp_server() + "," + pair.backup().tcp_server()) {
    join(pair.primary(), {.role = "agent", .name = "edge", .data_dir = folder_.file("edge")});
  }

  // Each time with a log of its own.
  void start() {
    Arguments arguments = node_command("agent", folder_.file("edge"));
    arguments.insert(arguments.end(), {"--server", servers_});
    log_ = folder_.file("log-" + std::to_string(++lives_));
    process_ = std::make_unique<ChildProcess>(
        ChildOptions{.arguments = std::move(arguments), .output_file = log_});
  }
  int stop() {
    process_->terminate();
    return process_->wait(20s);
  }
  std::string log() const { return read(log_); }
  // The highest that is on its disk; 0: none.
  uint64_t epoch() const {
    const std::string kept = read(folder_.file("edge/epoch"));
    const size_t at = kept.find("\nepoch ");
    return at == std::string::npos ? 0 : std::strtoull(kept.c_str() + at + 7, nullptr, 10);
  }
  bool keeps(uint64_t wanted) const {
    return eventually([&] { return epoch() == wanted; }, 30s);
  }
  bool refuses() const {
    return eventually([&] { return log().contains("HF4302"); }, 60s);
  }

 private:
  static std::string read(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  TempDir folder_;
  std::string servers_;
  std::string log_;
  int lives_ = 0;
  std::unique_ptr<ChildProcess> process_;
};

// It does not reach the other half, and that one not it, whatever both say to clients.
void start_apart(ControllerProcess& half, const std::string& role) {
  half.start({"--set", "ha.role=" + role, "--set", "ha.mode=best-effort", "--set",
              "ha.peer=127.0.0.1:" + std::to_string(free_ports(1).front())});
}

// In this mode a half that slept while it was replaced, and hears nobody, takes itself for the
// active one when it wakes. Its agents know better.
TEST(PairProcesses, AnAgentDoesNotObeyAHalfWhoseTimeIsOver) {
  LoopbackPair pair("best-effort");
  AgentOfPair agent(pair);
  pair.backup().kill();
  pair.primary().kill();
  start_apart(pair.primary(), "primary");
  ApiClient at_primary(pair.primary().tcp_server(), pair.primary().admin());
  ASSERT_TRUE(eventually([&] { return writes(at_primary, "web"); }, 30s)) << pair.primary().log();
  const uint64_t first = LoopbackPair::status_of(pair.primary()).self().epoch();
  agent.start();
  ASSERT_TRUE(agent.keeps(first)) << agent.log();

  pair.primary().freeze();
  ApiClient at_backup(pair.backup().tcp_server(), pair.primary().admin());
  uint64_t later = 0;
  for (int lives = 0; lives < 3 && later <= first; ++lives) {  // each begins an epoch of its own
    pair.backup().kill();
    start_apart(pair.backup(), "backup");
    ASSERT_TRUE(eventually([&] { return writes(at_backup, "web"); }, 30s)) << pair.backup().log();
    later = LoopbackPair::status_of(pair.backup()).self().epoch();
  }
  ASSERT_GT(later, first);
  ASSERT_TRUE(agent.keeps(later)) << agent.log();
  pair.backup().kill();
  pair.primary().thaw();

  EXPECT_TRUE(agent.refuses()) << agent.log() << pair.describe();
  EXPECT_NE(agent.stop(), -1);
  agent.start();
  EXPECT_TRUE(agent.refuses()) << agent.log() << pair.describe();
  EXPECT_EQ(agent.epoch(), later);

  // As soon as the two have met there is a later one, and that is obeyed.
  pair.primary().kill();
  pair.start_primary();
  pair.start_backup();
  EXPECT_TRUE(eventually([&] { return agent.epoch() > later; }, 60s))
      << agent.log() << pair.describe();
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
