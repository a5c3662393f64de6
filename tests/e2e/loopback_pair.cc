#include "e2e/loopback_pair.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "base/check.h"
#include "support/eventually.h"
#include "support/free_ports.h"
#include "support/paths.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

Arguments named(const std::string& name, const Arguments& more) {
  Arguments arguments = without_rate_limit();
  arguments.insert(arguments.end(), {"--name", name});
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

}  // namespace

void join(const ControllerProcess& at, const Joining& as) {
  const TempDir profile;
  const ProgramOutcome token = at.cli({"token", "create", "--role", as.role, "--name", as.name});
  HF_CHECK(token.exit_code == 0, token.error);
  const ProgramOutcome pin = at.cli({"rotate", "status"});
  const size_t begin = pin.output.find("sha256:");
  HF_CHECK(begin != std::string::npos, pin.output + pin.error);
  const ProgramOutcome joined =
      run_program({.arguments = {built("holdfast"), "--profile", profile.file("profile"), "join",
                                 "--name", as.name, "--token-file", "-", "--data-dir", as.data_dir,
                                 "--pin", pin.output.substr(begin, 71), at.tcp_server()},
                   .input = token.output});
  HF_CHECK(joined.exit_code == 0, joined.error);
}

LoopbackPair::LoopbackPair(LoopbackOptions options)
    : options_(std::move(options)),
      primary_(named("primary", options_.more)),
      backup_(named("backup", options_.more)),
      witness_port_(free_ports(1).front()) {
  backup_.kill();
  HF_CHECK(backup_.wait(20s) != -1, "the backup ends: " + backup_.log());
  join(primary_, {.role = "controller", .name = "backup", .data_dir = backup_.data_dir()});
  if (options_.mode == "witness") {
    join(primary_,
         {.role = options_.witness_role, .name = "witness", .data_dir = folder_.file("witness")});
    start_witness();
  }
  primary_.terminate();
  HF_CHECK(primary_.wait(20s) == 0, "the primary ends: " + primary_.log());
  start_primary();
  start_backup();
  // A client's call is what makes one of them active, if nothing else does.
  const auto asked = [&] { return primary_.cli({"get", "services"}).exit_code == 0; };
  HF_CHECK(eventually(asked, 20s), "the primary serves: " + describe());
  HF_CHECK(becomes_in_sync(primary_), "the backup is in sync: " + describe());
}

void LoopbackPair::start_witness() {
  const bool alone = options_.witness_role == "witness";
  Arguments arguments = node_command(options_.witness_role, folder_.file("witness"));
  arguments.insert(
      arguments.end(),
      {alone ? "--listen" : "--witness-listen", fmt::format("127.0.0.1:{}", witness_port_),
       "--server", fmt::format("{},{}", primary_.tcp_server(), backup_.tcp_server())});
  witness_ = std::make_unique<ChildProcess>(
      ChildOptions{.arguments = std::move(arguments), .output_file = folder_.file("witness.log")});
}

std::string LoopbackPair::log_of_witness() const {
  std::ifstream file(folder_.file("witness.log"));
  return {std::istreambuf_iterator<char>(file), {}};
}

Arguments LoopbackPair::arguments_of(const std::string& role, const std::string& peer) const {
  Arguments arguments;
  const auto set = [&](const std::string& pair) {
    arguments.insert(arguments.end(), {"--set", pair});
  };
  set("ha.role=" + role);
  set("ha.peer=" + peer);
  set("ha.mode=" + options_.mode);
  if (options_.mode == "witness") set(fmt::format("ha.witness=127.0.0.1:{}", witness_port_));
  return arguments;
}

v1::PairStatus LoopbackPair::status_of(const ControllerProcess& half) {
  const auto stub = v1::PairControl::NewStub(rpc::make_channel(half.unix_server(), {}));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + 2s);
  v1::PairStatus status;
  const grpc::Status answered = stub->GetPair(&context, v1::GetPairRequest(), &status);
  return answered.ok() ? status : v1::PairStatus();
}

bool LoopbackPair::becomes(const ControllerProcess& half, v1::PairState state) {
  return eventually([&] { return status_of(half).self().state() == state; }, 20s);
}

bool LoopbackPair::becomes_in_sync(const ControllerProcess& active) {
  return eventually(
      [&] {
        const v1::PairStatus status = status_of(active);
        return status.self().state() == v1::PAIR_STATE_ACTIVE && status.in_sync() &&
               status.lag() == 0;
      },
      20s);
}

std::string LoopbackPair::describe() const {
  return fmt::format("primary {}\nbackup {}\n{}\n{}\n{}", status_of(primary_).ShortDebugString(),
                     status_of(backup_).ShortDebugString(), primary_.log(), backup_.log(),
                     log_of_witness());
}

}  // namespace holdfast::test
