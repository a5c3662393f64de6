#include "e2e/track_fleet.h"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/check.h"
#include "support/eventually.h"
#include "support/free_ports.h"
#include "support/http_client.h"
#include "support/netns.h"
#include "support/paths.h"
#include "track/bpf_handles.h"
#include "track/bpf_loader.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

constexpr const char* kPython = "/usr/bin/python3";
constexpr const char* kPrefix = "hf-e2e-track-";
constexpr const char* kZones = R"(
kind: zone_map
metadata: {name: default}
spec: {zones: [{name: a, id: 1}, {name: b, id: 2}, {name: c, id: 3}]}
)";

std::string cgroup2_mount() {
  std::ifstream mounts("/proc/self/mounts");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string device, place, type;
    words >> device >> place >> type;
    if (type == "cgroup2") return place;
  }
  return "";
}

// What tests left that were killed.
void remove_stale_cgroups(const std::string& mount) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(mount, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix)) continue;
    const auto age = std::filesystem::file_time_type::clock::now() - entry.last_write_time(error);
    if (!error && age > 1h) ::rmdir(entry.path().c_str());
  }
}

std::vector<std::string> lines_of(const std::string& file) {
  std::ifstream input(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(input, line);) lines.push_back(line);
  return lines;
}

}  // namespace

std::string TrackFleet::why_not() {
  static const std::string why = [] {
    if (::geteuid() != 0) return std::string("loading programs into the kernel needs root");
    if (const Status own = enter_own_network(); !own.ok()) return own.ToString();
    const std::string cgroups = cgroup2_mount();
    if (cgroups.empty()) return std::string("no cgroup2 is mounted");
    const Status machine =
        track::check_machine({.directory = "/tmp", .cgroup = cgroups, .mount_bpffs = true});
    return machine.ok() ? std::string() : machine.ToString();
  }();
  return why;
}

TrackFleet::TrackFleet() {
  const std::string mount = cgroup2_mount();
  remove_stale_cgroups(mount);
  // A process id is not unique: tests run in pid namespaces. The folder's name is.
  cgroup_ = fmt::format("{}/{}{}", mount, kPrefix, cluster_.folder().path().filename().string());
  pins_ = cluster_.folder().file("pins");
  health_ = fmt::format("127.0.0.1:{}", free_ports(1).front());
  cluster_.apply(kZones);
  for (const char* name : {"a", "b", "c"}) add_app(name);
}

TrackFleet::~TrackFleet() {
  if (has_agent_) kill_agent();
  // A test that failed may have left clients; they are children that die with their owners, but the
  // cgroup must be empty now.
  std::ofstream(cgroup_ + "/cgroup.kill") << "1" << std::flush;
  track("unload");
  ::umount2(pins_.c_str(), MNT_DETACH);
  eventually([this] { return ::rmdir(cgroup_.c_str()) == 0 || errno == ENOENT; }, 5s);
}

ProgramOutcome TrackFleet::track(const std::string& verb, const Arguments& more) const {
  Arguments arguments = {built("holdfastd"), "track", verb, "--pins", pins_, "--cgroup", cgroup_};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_program({.arguments = std::move(arguments)});
}

void TrackFleet::load() {
  const ProgramOutcome loaded = track("load");
  HF_CHECK(loaded.exit_code == 0, loaded.error);
}

// The kernel frees a link some time after its last pin is gone.
bool TrackFleet::detach_sockops() const {
  if (!std::filesystem::remove(pins_ + "/link_hf_sockops")) return false;
  const track::Descriptor folder(::open(cgroup_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const auto is_detached = [&] {
    __u32 count = 0;
    return ::bpf_prog_query(folder.get(), BPF_CGROUP_SOCK_OPS, 0, nullptr, nullptr, &count) == 0 &&
           count == 0;
  };
  return eventually(is_detached, 10s);
}

void TrackFleet::start_agent(const Arguments& more) {
  Arguments arguments = {"--listen", health_};
  const Arguments settings = {"agent.tracking.enabled=yes", "agent.tracking.pins=" + pins_,
                              "agent.tracking.cgroup=" + cgroup_,
                              "agent.tracking.audit_interval=1s"};
  for (const std::string& pair : settings) arguments.insert(arguments.end(), {"--set", pair});
  if (has_agent_) {
    Arguments again;
    for (const std::string& pair : more) again.insert(again.end(), {"--set", pair});
    return cluster_.start(kAgent, again);
  }
  for (const std::string& pair : more) arguments.insert(arguments.end(), {"--set", pair});
  cluster_.add_agent(kAgent, "a", {}, arguments);
  has_agent_ = true;
}

void TrackFleet::add_app(const std::string& name) {
  App& app = apps_[name];
  app.port = free_ports(1).front();
  app.process = std::make_unique<ChildProcess>(ChildOptions{
      .arguments = {kPython, in_tree("tests/e2e/track_app.py"), std::to_string(app.port), name},
      .output_file = cluster_.folder().file(name + ".app.log")});
  const std::string url = fmt::format("http://127.0.0.1:{}/", app.port);
  const auto listens = [&] {
    return run_program({"curl", "-s", "-m", "2", "-o", "/dev/null", url}, 5s).exit_code == 0;
  };
  HF_CHECK(eventually(listens, 20s), "the application listens");
}

void TrackFleet::apply_web(const std::string& more,
                           const std::map<std::string, std::string>& app_of_zone) {
  std::string endpoints;
  for (const auto& [zone, app] : app_of_zone) {
    endpoints += fmt::format("{{address: '127.0.0.1:{}', zone: {}}}, ", port_of(app), zone);
  }
  cluster_.apply(fmt::format(
      "kind: service\nmetadata: {{name: web}}\nspec: {{virtual_ip: {}, ports: [{{port: 80, "
      "protocol: http}}], endpoints: [{}]{}{}}}\n",
      kWebIp, endpoints, more.empty() ? "" : ", ", more));
}

Arguments TrackFleet::inside(Arguments command) const {
  Arguments whole = {built("holdfastd"), "track", "exec", "--pins", pins_,
                     "--cgroup",         cgroup_, "--"};
  whole.insert(whole.end(), command.begin(), command.end());
  return whole;
}

ProgramOutcome TrackFleet::run_inside(Arguments command) const {
  return run_program({.arguments = inside(std::move(command))});
}

std::string TrackFleet::curl() const {
  return run_inside({"curl", "-s", "-m", "5", fmt::format("http://{}/", kWebIp)}).output;
}

bool TrackFleet::answers(const std::string& app) {
  return eventually([&] { return curl() == app; }, 15s);
}

std::string TrackFleet::ask_agent(const std::string& path) const {
  const ProgramResult asked = run_program(
      {"curl", "-s", "-m", "5", "-w", "\n%{http_code}", "http://" + health_ + path}, 8s);
  return asked.output;
}

std::string TrackFleet::metrics() const {
  return ask_agent("/metrics");
}

std::string TrackFleet::ready() const {
  return ask_agent("/readyz");
}

std::optional<double> TrackFleet::metric(const std::string& name, const Arguments& labels) const {
  std::istringstream text(metrics());
  std::optional<double> sum;
  for (std::string line; std::getline(text, line);) {
    const size_t end = line.find_first_of("{ ");
    if (line.substr(0, end) != name) continue;
    const bool meant = std::ranges::all_of(
        labels, [&](const std::string& label) { return line.find(label) != std::string::npos; });
    if (meant) sum = sum.value_or(0) + std::stod(line.substr(line.rfind(' ') + 1));
  }
  return sum;
}

std::string TrackFleet::counts(const std::string& zone) const {
  const std::string label = fmt::format("dst_zone=\"{}\"", zone);
  const auto of = [&](const char* name) { return metric(name, {label}).value_or(-1); };
  return fmt::format("{}/{}/{}", of("holdfast_opened_connections_total"),
                     of("holdfast_closed_connections_total"), of("holdfast_active_connections"));
}

bool TrackFleet::comes_to(const std::string& zone, const std::string& wanted) const {
  return eventually([&] { return counts(zone) == wanted; }, 10s);
}

Holder::Holder(const TrackFleet& fleet, int count, Duration between) {
  const std::string fifo = dir_.file("input");
  HF_CHECK(::mkfifo(fifo.c_str(), 0600) == 0, "a pipe");
  input_ = ::open(fifo.c_str(), O_RDWR | O_CLOEXEC);
  process_ = std::make_unique<ChildProcess>(ChildOptions{
      .arguments = fleet.inside({kPython, in_tree("tests/e2e/track_client.py"), "hold", kWebIp,
                                 "80", std::to_string(count),
                                 std::to_string(std::chrono::duration<double>(between).count())}),
      .output_file = dir_.file("output"),
      .error_file = dir_.file("errors"),
      .input_file = fifo});
  names_ = wait_for_names();
}

std::vector<std::string> Holder::wait_for_names() {
  std::vector<std::string> lines;
  const bool in_time = eventually(
      [&] {
        lines = lines_of(dir_.file("output"));
        return lines.size() > read_ && lines.back() == "held";
      },
      20s);
  if (!in_time) return lines_of(dir_.file("errors"));
  const std::vector<std::string> names(lines.begin() + static_cast<ptrdiff_t>(read_),
                                       lines.end() - 1);
  read_ = lines.size();
  return names;
}

std::vector<std::string> Holder::ask() {
  HF_CHECK(::write(input_, "\n", 1) == 1, "it listens");
  return wait_for_names();
}

size_t Holder::count(const std::string& name) const {
  return static_cast<size_t>(std::ranges::count(names_, name));
}

void Holder::end() {
  if (input_ < 0) return;
  process_->kill();
  ::close(std::exchange(input_, -1));
}

}  // namespace holdfast::test
