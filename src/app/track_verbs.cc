#include "app/track_verbs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <iostream>

#include "app/exit_status.h"
#include "app/track_config.h"
#include "base/reason.h"
#include "cli/output.h"
#include "track/bpf_handles.h"
#include "track/bpf_loader.h"
#include "track/pins_service.h"

namespace holdfast::app {
namespace {

constexpr int kExitNotFound = 127;  // as shells have it

constexpr const char* kHelp =
    R"(The kernel translates connections to virtual IPs of services and counts them, for all
programs of one cgroup. Putting that into the kernel needs root, once; the agent only
opens what is pinned, and needs no right but to read and write it.
  holdfastd track check                        what keeps this machine from it
  holdfastd track load --owner holdfast        load, or replace under live connections
  holdfastd track exec -- curl http://10.96.0.1/
  holdfastd track unload
Folder and cgroup are agent.tracking.pins and agent.tracking.cgroup. See docs/tracking.md.
)";

int failed(const Status& status) {
  std::cerr << "holdfastd: " << status.message() << "\n";
  return kExitFailed;
}

Status failed_call(std::string_view code, std::string_view doing) {
  return coded(absl::ErrnoToStatusCode(errno), code,
               fmt::format("{}: {}", doing, std::strerror(errno)));
}

Result<track::Owner> owner_named(const std::string& name) {
  const passwd* found = ::getpwnam(name.c_str());
  if (found == nullptr) {
    return coded(absl::StatusCode::kInvalidArgument, "HF6010",
                 fmt::format("--owner {}: there is no such user", name));
  }
  return track::Owner{.user = found->pw_uid, .group = found->pw_gid};
}

// The process itself: sockets that it or its children make from here on belong to the cgroup.
Status join_cgroup(const std::string& cgroup) {
  const std::string path = cgroup + "/cgroup.procs";
  const track::Descriptor procs(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!procs.is_open() || ::write(procs.get(), "0", 1) != 1) {
    return failed_call("HF8103", "joining " + path);
  }
  return absl::OkStatus();
}

}  // namespace

TrackVerbs::TrackVerbs(CLI::App& daemon, DaemonConfig& sources)
    : track_(daemon.add_subcommand("track",
                                   "count connections in the kernel: load, unload, check "
                                   "or exec")) {
  track_->require_subcommand(1);
  track_->footer(kHelp);
  load_ = track_->add_subcommand("load", "put the programs into the kernel and pin them, as root");
  load_->add_option("--owner", owner_, "user that may open the pins: the agent's");
  unload_ = track_->add_subcommand("unload", "take them out: nothing is counted any more");
  check_ = track_->add_subcommand("check", "say what keeps this machine from it");
  CLI::App* exec = track_->add_subcommand(
      "exec",
      "join the cgroup and become another program\n  holdfastd track exec -- curl "
      "http://10.96.0.1/");
  exec->add_option("COMMAND", command_, "and its arguments, after --")->required();
  for (CLI::App* command : {load_, unload_, check_, exec}) sources.add_tracking(*command);
}

int TrackVerbs::run(const config::TrackingConfig& config) const {
  if (load_->parsed()) return load(config);
  if (unload_->parsed()) return unload(config);
  return check_->parsed() ? check(config) : exec(config);
}

int TrackVerbs::load(const config::TrackingConfig& config) const {
  track::LoadOptions options = load_options(config);
  if (!owner_.empty()) {
    const Result<track::Owner> owner = owner_named(owner_);
    if (!owner.ok()) return failed(owner.status());
    options.owner = *owner;
  }
  const Result<track::Loaded> loaded = track::load(options);
  if (!loaded.ok()) return failed(loaded.status());
  if (loaded->cgroup_made) cli::print_out(fmt::format("made {}\n", options.cgroup));
  cli::print_out(
      fmt::format("loaded for {}: {} programs attached, {} replaced, {} maps kept; pins in {}\n",
                  options.cgroup, loaded->links_made, loaded->links_updated, loaded->maps_reused,
                  options.directory));
  return 0;
}

int TrackVerbs::unload(const config::TrackingConfig& config) const {
  const Status unloaded = track::unload(config.pins);
  if (!unloaded.ok()) return failed(unloaded);
  cli::print_out(fmt::format("unloaded; no pins are left in {}\n", config.pins));
  return 0;
}

int TrackVerbs::check(const config::TrackingConfig& config) const {
  const Status machine = track::check_machine(load_options(config));
  cli::print_out(
      fmt::format("to load   {}\n", machine.ok() ? "ready" : std::string(machine.message())));
  const Result<std::unique_ptr<track::Pins>> pins = track::Pins::open(config.pins);
  const Status there = pins.ok() ? (*pins)->attached() : pins.status();
  cli::print_out(
      fmt::format("loaded    {}\n", there.ok() ? config.pins : std::string(there.message())));
  cli::print_out(
      fmt::format("agent     agent.tracking.enabled is {}\n", config.enabled ? "yes" : "no"));
  return machine.ok() || there.ok() ? 0 : kExitFailed;
}

int TrackVerbs::exec(const config::TrackingConfig& config) const {
  const Status joined = join_cgroup(config.cgroup);
  if (!joined.ok()) return failed(joined);
  std::vector<char*> words;
  for (const std::string& word : command_) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execvp(words.front(), words.data());
  std::cerr << "holdfastd: " << command_.front() << ": " << std::strerror(errno) << "\n";
  return kExitNotFound;
}

}  // namespace holdfast::app
