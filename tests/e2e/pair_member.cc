#include "e2e/pair_member.h"

#include <fmt/format.h>
#include <sys/mount.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/check.h"
#include "e2e/controller_process.h"
#include "rpc/call.h"
#include "rpc/channel.h"
#include "rpc/status.h"
#include "support/eventually.h"
#include "support/paths.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr const char* kFiller = "/filler";

}  // namespace

PairMember::PairMember(const OwnNetwork& network, std::string name, std::string role)
    : network_(network), name_(std::move(name)), role_(std::move(role)) {
  fs::create_directory(data_dir());
  fs::permissions(data_dir(), fs::perms::owner_all);
  control_ = v1::PairControl::NewStub(
      rpc::make_channel(unix_server(), {.longest_reconnect_wait = std::chrono::milliseconds(100)}));
}

PairMember::~PairMember() {
  if (process_ != nullptr) process_->kill();
  if (small_disk_) ::umount2(data_dir().c_str(), MNT_DETACH);
}

void PairMember::configure(const std::string& yaml) const {
  std::ofstream(config_file()) << yaml;
}

std::string PairMember::address() const {
  return fmt::format("{}:7443", network_.address(name_));
}

void PairMember::start() {
  process_.reset();
  process_ = std::make_unique<ChildProcess>(ChildOptions{
      .arguments = network_.on(name_, {built("holdfastd"), role_, "--config", config_file()}),
      .output_file = folder_.file("log")});
  if (role_ != "controller") return;
  const bool in_time = eventually([&] { return answers() || !process_->running(); }, 20s);
  HF_CHECK(in_time && process_->running(), name_ + " starts within 20 s: " + log());
}

void PairMember::terminate() {
  process_->terminate();
  HF_CHECK(process_->wait(20s) == 0, name_ + " ends when told to: " + log());
}

void PairMember::use_small_disk() {
  small_disk_ = ::mount("tmpfs", data_dir().c_str(), "tmpfs", 0, "size=24m,mode=700") == 0;
  HF_CHECK(small_disk_, "root may mount a small disk");
}

void PairMember::fill_disk() const {
  std::ofstream filler(data_dir() + kFiller, std::ios::binary);
  const std::string block(4096, 'x');
  while (filler.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
  }
}

void PairMember::free_disk() const {
  fs::remove(data_dir() + kFiller);
}

void PairMember::lose_data() const {
  for (const fs::directory_entry& entry : fs::directory_iterator(data_dir())) {
    fs::remove_all(entry.path());
  }
}

std::string PairMember::log() const {
  std::ifstream file(folder_.file("log"));
  return {std::istreambuf_iterator<char>(file), {}};
}

ProgramOutcome PairMember::cli(std::vector<std::string> arguments, std::string input) const {
  return run_cli(unix_server(), std::move(arguments), std::move(input));
}

Result<v1::PairStatus> PairMember::status() const {
  grpc::ClientContext context;
  rpc::apply({.timeout = 1s}, context);
  v1::PairStatus status;
  TRY_OK(rpc::from_grpc(control_->GetPair(&context, {}, &status)));
  return status;
}

Result<v1::SwitchOverResponse> PairMember::switch_over() const {
  grpc::ClientContext context;
  rpc::apply({.timeout = 10s}, context);
  v1::SwitchOverResponse switched;
  TRY_OK(rpc::from_grpc(control_->SwitchOver(&context, {}, &switched)));
  return switched;
}

Result<v1::PromoteResponse> PairMember::promote() const {
  grpc::ClientContext context;
  rpc::apply({.timeout = 10s}, context);
  v1::PromoteRequest request;
  request.set_force(true);
  v1::PromoteResponse promoted;
  TRY_OK(rpc::from_grpc(control_->Promote(&context, request, &promoted)));
  return promoted;
}

// Whatever it says: it is there to be asked.
bool PairMember::answers() const {
  const absl::StatusCode code = status().status().code();
  return code != absl::StatusCode::kUnavailable && code != absl::StatusCode::kDeadlineExceeded;
}

}  // namespace holdfast::test
