// The daemon's life: what it keeps when it ends, how it ends, and what it refuses to start with.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/clock.h"
#include "e2e/api_client.h"
#include "e2e/cluster_process.h"
#include "support/eventually.h"
#include "support/free_ports.h"
#include "support/http_client.h"
#include "support/paths.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

std::string many_services(int count) {
  std::string documents;
  for (int i = 0; i < count; ++i) documents += "---\n" + service_yaml(fmt::format("s{:03}", i));
  return documents;
}

// A controller on this folder that disturbs no other.
Arguments on_its_own(const std::string& data_dir) {
  return {"controller",    "--data-dir", data_dir,          "--listen", "127.0.0.1:0",
          "--http-listen", "",           "--health-listen", ""};
}

// Makes every page of a store's file but the first unreadable.
void damage(const std::string& file) {
  const auto size = static_cast<std::streamoff>(std::filesystem::file_size(file));
  constexpr std::streamoff kPage = 4096;
  std::fstream store(file, std::ios::binary | std::ios::in | std::ios::out);
  store.seekp(kPage);
  for (std::streamoff page = kPage; page < size; page += kPage) store << std::string(kPage, '\x5a');
}

std::vector<std::string> lines_with(const std::string& log, const std::string& text) {
  std::vector<std::string> found;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    if (line.contains(text)) found.push_back(line);
  }
  return found;
}

// `holdfast watch` in the background.
class CliWatch {
 public:
  CliWatch(const std::string& server, Arguments arguments) {
    arguments.insert(arguments.begin(), {built("holdfast"), "--server", server, "watch"});
    process_ = std::make_unique<ChildProcess>(ChildOptions{.arguments = std::move(arguments),
                                                           .output_file = folder_.file("output"),
                                                           .error_file = folder_.file("error")});
  }

  bool started() const {
    return eventually([&] { return contents("error").contains("watching"); }, 10s);
  }
  int wait(Duration patience) { return process_->wait(patience); }
  std::string contents(const std::string& stream) const {
    std::ifstream file(folder_.file(stream));
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  TempDir folder_;
  std::unique_ptr<ChildProcess> process_;
};

TEST(Daemon, StopsRatherThanWriteIntoAFolderThatIsGone) {
  ControllerProcess controller;
  controller.cli({"apply", "-f", "-"}, service_yaml("web"));

  std::filesystem::remove_all(controller.data_dir());

  EXPECT_EQ(controller.wait(15s), 1);
}

TEST(Daemon, KeepsEverythingWhenItIsTerminatedAndWhenItIsKilled) {
  ControllerProcess controller;
  controller.cli({"apply", "-f", "-"}, many_services(50));
  controller.cli({"delete", "service/s007"});
  const std::string before = controller.cli({"get", "services", "-o", "json"}).output;

  controller.terminate();
  EXPECT_EQ(controller.wait(10s), 0);
  controller.start();
  const std::string after_term = controller.cli({"get", "services", "-o", "json"}).output;
  const ProgramOutcome last = controller.cli({"apply", "-f", "-"}, service_yaml("last"));
  controller.kill();
  controller.start();

  EXPECT_THAT(before, AllOf(HasSubstr("s049"), testing::Not(HasSubstr("s007"))));
  EXPECT_EQ(after_term, before);
  EXPECT_EQ(last.output, "service/last created\n");
  EXPECT_EQ(controller.cli({"get", "service/last", "-o", "name"}).output, "service/last\n");
  EXPECT_EQ(controller.cli({"delete", "service/last"}).exit_code, 0);
  EXPECT_EQ(controller.cli({"get", "services", "-o", "json"}).output, before);
}

TEST(Daemon, EndsSoonThoughWatchesAreOpen) {
  ClusterProcess controller;
  std::vector<std::unique_ptr<CliWatch>> watches;
  for (int i = 0; i < 2; ++i) {
    watches.push_back(
        std::make_unique<CliWatch>(controller.unix_server(), Arguments{"services", "--wait", "1"}));
  }
  for (const auto& watch : watches) ASSERT_TRUE(watch->started()) << watch->contents("error");
  ApiClient remote(controller.tcp_server(), controller.admin());
  WatchReader with_tls(remote, watch_request({"service"}));
  ASSERT_TRUE(with_tls.wait_for(1));

  controller.terminate();

  EXPECT_EQ(controller.wait(10s), 0) << controller.log();
  for (const auto& watch : watches) {
    EXPECT_EQ(watch->wait(10s), 69);
    EXPECT_THAT(watch->contents("error"), HasSubstr("connection lost; following again"));
  }
  const grpc::Status told = with_tls.wait_until_it_ends();
  EXPECT_EQ(told.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(told.error_message(), HasSubstr("stopping"));
}

TEST(Daemon, ASecondOneOnTheSameFolderIsRefusedWithThePidOfTheFirst) {
  for (const Arguments& store : {Arguments{}, {"--store", "memory"}}) {
    ControllerProcess controller(store);
    controller.cli({"apply", "-f", "-"}, service_yaml("web"));
    Arguments arguments = on_its_own(controller.data_dir());
    arguments.insert(arguments.end(), store.begin(), store.end());

    const ProgramOutcome second = run_daemon(arguments);

    EXPECT_EQ(second.exit_code, 1);
    EXPECT_THAT(second.error, HasSubstr(fmt::format("process {};", controller.pid())));
    EXPECT_EQ(controller.cli({"get", "svc", "-o", "name"}).output, "service/web\n");
  }
}

TEST(Daemon, APortInUseIsRefusedByName) {
  ClusterProcess controller;
  const TempDir folder;
  const struct {
    std::string flag;
    std::string address;
  } ports[] = {{"--listen", controller.tcp_server()},
               {"--http-listen", controller.https_server()},
               {"--health-listen", controller.health_server()}};
  for (const auto& [flag, address] : ports) {
    Arguments arguments = on_its_own(folder.file("data"));
    *std::next(std::ranges::find(arguments, flag)) = address;

    const ProgramOutcome second = run_daemon(arguments);

    EXPECT_EQ(second.exit_code, 1) << flag;
    EXPECT_THAT(second.error, AllOf(HasSubstr("HF1106"), HasSubstr(address))) << flag;
  }
}

TEST(Daemon, ADamagedStoreIsRefusedAndLeftAsItIs) {
  ControllerProcess controller;
  controller.cli({"apply", "-f", "-"}, many_services(200));
  controller.terminate();
  ASSERT_EQ(controller.wait(10s), 0);
  const std::string file = controller.data_dir() + "/store.db";
  const auto size = std::filesystem::file_size(file);
  {
    std::fstream store(file, std::ios::binary | std::ios::in | std::ios::out);
    store.seekp(static_cast<std::streamoff>(size / 2));
    store << std::string(4096, '\x5a');
  }
  const ProgramOutcome damaged = run_daemon(on_its_own(controller.data_dir()));
  std::ofstream(file, std::ios::binary) << "this is not a store, but somebody's notes";
  const ProgramOutcome foreign = run_daemon(on_its_own(controller.data_dir()));

  EXPECT_EQ(damaged.exit_code, 1);
  EXPECT_THAT(damaged.error, AllOf(HasSubstr(file), HasSubstr("damaged")));
  EXPECT_EQ(foreign.exit_code, 1);
  EXPECT_THAT(foreign.error, AllOf(HasSubstr(file), HasSubstr("left as it is")));
  EXPECT_EQ(std::filesystem::file_size(file), 41U);
}

TEST(Daemon, ItsOwnTroubleIsLoggedOnce) {
  ControllerProcess controller;
  controller.cli({"apply", "-f", "-"}, many_services(200));
  controller.terminate();
  ASSERT_EQ(controller.wait(10s), 0);
  controller.start();
  EXPECT_EQ(controller.cli({"get", "service/none"}).exit_code, 1);  // the caller's, not ours
  damage(controller.data_dir() + "/store.db");

  // Written, not read: what was read before may be answered from memory.
  const std::string one = "kind: service\nmetadata: {name: one-more}\nspec: {}\n";
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(controller.cli({"apply", "-f", "-"}, one).error, HasSubstr("malformed"));
  }

  const auto lines = [&] { return lines_with(controller.log(), "a call failed"); };
  ASSERT_TRUE(eventually([&] { return !lines().empty(); }, 5s)) << controller.log();
  EXPECT_THAT(lines(), testing::ElementsAre(AllOf(HasSubstr("error"), HasSubstr("malformed"))));
}

TEST(Daemon, WhatIsNotAnAddressIsAWrongConfiguration) {
  const TempDir folder;
  for (const std::string& address :
       Arguments{":0", "example.org:7443", "127.example.org:7443", "unix:/tmp/other.sock",
                 "ipv4:0.0.0.0:0", "7443", "127.0.0.1", "::1:7443", "127.0.0.1:65536",
                 "127.0.0.1:4294967296", "127.0.0.1:-1", "127.0.0.1:+1", "127.0.0.1:abc",
                 "127.0.0.1:80x", "127.0.0.1:", "[::1]:65536"}) {
    for (const std::string& flag : Arguments{"--listen", "--http-listen", "--health-listen"}) {
      const ProgramOutcome refused =
          run_daemon({"controller", "--data-dir", folder.file("data"), flag, address});
      EXPECT_EQ(refused.exit_code, 78) << flag << " " << address;
      EXPECT_THAT(refused.error, AllOf(HasSubstr(address), HasSubstr("is not IP:PORT")));
      EXPECT_FALSE(std::filesystem::exists(folder.file("data"))) << address;
    }
  }
}

TEST(Daemon, ListensOnAnyAddressOfTheMachineAndAnyPort) {
  const std::string everywhere = fmt::format("0.0.0.0:{}", free_ports(1).front());
  ClusterProcess controller({"--listen", "127.0.0.1:0", "--listen", "127.0.0.3:65535", "--listen",
                             everywhere, "--host", "127.0.0.2"});
  const auto port = everywhere.substr(everywhere.rfind(':'));

  for (const std::string& address : {std::string("127.0.0.3:65535"), "127.0.0.2" + port}) {
    ApiClient client(address, controller.admin());
    EXPECT_TRUE(client.list_status({"service"}).ok()) << address;
  }
  EXPECT_THAT(controller.log(), HasSubstr(everywhere));
}

TEST(Daemon, APlainCallerOnThePortWithTlsIsNotServed) {
  ClusterProcess controller;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + 2s);
  v1::ListRequest request;
  request.set_kind("service");
  v1::ListResponse response;

  ApiClient plain(controller.tcp_server());
  const grpc::Status status = plain.resources().List(&context, request, &response);
  ApiClient nobody(controller.tcp_server(), controller.nobody());

  EXPECT_THAT(status.error_code(),
              testing::AnyOf(grpc::StatusCode::UNAVAILABLE, grpc::StatusCode::DEADLINE_EXCEEDED));
  EXPECT_EQ(nobody.list_status({"service"}).error_code(), grpc::StatusCode::UNAUTHENTICATED);
}

TEST(Daemon, AWrongConfigurationFileIsRefusedWithItsLine) {
  const TempDir folder;
  std::ofstream(folder.file("wrong.yaml")) << "version: 1\nlog:\n  level: loud\n";
  Arguments arguments = on_its_own(folder.file("data"));
  arguments.insert(arguments.begin(), {"--config", folder.file("wrong.yaml")});

  const ProgramOutcome refused = run_daemon(arguments);

  EXPECT_EQ(refused.exit_code, 78);
  EXPECT_THAT(refused.error, AllOf(HasSubstr("wrong.yaml:3"), HasSubstr("loud")));
  EXPECT_FALSE(std::filesystem::exists(folder.file("data")));
}

TEST(Daemon, AWrongFileAtSighupChangesNothingAndShows) {
  const TempDir folder;
  const std::string file = folder.file("holdfast.yaml");
  std::ofstream(file) << "version: 1\n";
  ControllerProcess controller({"--config", file, "--set", "health.recovery_window=1s"});
  const auto readyz = [&] { return HttpClient(controller.health_server()).ask("GET /readyz"); };
  ASSERT_TRUE(eventually([&] { return readyz().status == 200; }, 20s)) << readyz().body;

  std::ofstream(file) << "version: 1\nlog: {level: loud}\n";
  controller.hang_up();
  EXPECT_TRUE(eventually([&] { return readyz().body.contains("HF6001"); }, 10s)) << readyz().body;
  EXPECT_EQ(readyz().status, 200) << "the old configuration works: no reason to send clients away";
  EXPECT_EQ(controller.cli({"apply", "-f", "-"}, service_yaml("web")).exit_code, 0);

  std::ofstream(file) << "version: 1\nlog: {level: warn}\n";
  controller.hang_up();
  EXPECT_TRUE(eventually([&] { return !readyz().body.contains("HF6001"); }, 10s)) << readyz().body;
}

TEST(Daemon, RefusesWhatItCannotDo) {
  const TempDir folder;
  const std::string data = folder.file("data");

  const ProgramOutcome no_endpoint =
      run_daemon({"controller", "--data-dir", data, "--store", "etcd"});
  EXPECT_EQ(no_endpoint.exit_code, 78);
  EXPECT_THAT(no_endpoint.error, HasSubstr("store.etcd.endpoints"));

  EXPECT_EQ(run_daemon({"controller", "--data-dir", data, "--store", "paper"}).exit_code, 78);
  EXPECT_EQ(run_daemon({"--log-level", "loud", "controller", "--data-dir", data}).exit_code, 78);
  EXPECT_EQ(run_daemon({}).exit_code, 64);
  EXPECT_EQ(run_daemon({"--help"}).exit_code, 0);

  const ProgramOutcome no_folder = run_daemon(on_its_own("/proc/nowhere"));
  EXPECT_EQ(no_folder.exit_code, 1);
  EXPECT_THAT(no_folder.error, AllOf(HasSubstr("/proc/nowhere"), HasSubstr("--data-dir")));
}

TEST(Daemon, NothingInItsFolderIsForOthers) {
  ControllerProcess controller;
  controller.cli({"apply", "-f", "-"}, service_yaml("web"));
  Arguments paths = {controller.data_dir()};
  for (const auto& entry : std::filesystem::directory_iterator(controller.data_dir())) {
    paths.push_back(entry.path());
  }

  EXPECT_THAT(paths, testing::Contains(controller.socket()));
  for (const std::string& path : paths) {
    struct stat found{};
    ASSERT_EQ(::stat(path.c_str(), &found), 0) << path;
    EXPECT_EQ(found.st_mode & 077, 0U) << path;
  }
}

TEST(Daemon, WhatExpiresVanishesAndWatchersSeeIt) {
  ControllerProcess controller;
  CliWatch watch(controller.unix_server(), {"agents", "--count", "2"});
  ASSERT_TRUE(watch.started());
  const std::string expires = to_rfc3339(SystemClock().wall_now() + 500ms);

  const ProgramOutcome applied = controller.cli(
      {"apply", "-f", "-"},
      fmt::format("kind: agent\nmetadata: {{name: edge-7, expires: {}}}\nspec: {{zone: a}}\n",
                  expires));

  EXPECT_EQ(applied.exit_code, 0) << applied.error;
  EXPECT_EQ(watch.wait(10s), 0);
  EXPECT_THAT(watch.contents("output"), AllOf(testing::StartsWith("put    agent/edge-7"),
                                              HasSubstr("\ndelete agent/edge-7")));
  EXPECT_EQ(controller.cli({"get", "agent/edge-7"}).exit_code, 1);
}

}  // namespace
}  // namespace holdfast::test
