#include "support/netns.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "base/check.h"
#include "support/eventually.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using Words = std::vector<std::string>;

constexpr const char* kSwitch = "switch";
constexpr const char* kTest = "test";
// Nobody's: what is sent to it is lost.
constexpr const char* kNobody = "02:00:00:00:00:99";

Status run(const Words& words) {
  const ProgramResult result = run_program(words, 10s);
  if (result.exit_code == 0) return absl::OkStatus();
  return absl::UnavailableError(fmt::format("{}: {}", fmt::join(words, " "), result.output));
}

void must(const Words& words) {
  const Status status = run(words);
  HF_CHECK(status.ok(), status.ToString());
}

size_t own_threads() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<size_t>(std::distance(begin(tasks), end(tasks)));
}

std::string network_of(pid_t pid) {
  std::error_code gone;
  return std::filesystem::read_symlink(fmt::format("/proc/{}/ns/net", pid), gone).string();
}

Status leave_network() {
  if (::geteuid() != 0) return absl::PermissionDeniedError("namespaces of networks need root");
  HF_CHECK(own_threads() == 1, "a process leaves its network before it has threads");
  if (::unshare(CLONE_NEWNET | CLONE_NEWNS) != 0 ||
      ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return absl::ErrnoToStatus(errno, "this process gets no network of its own");
  }
  return run({"ip", "link", "set", "lo", "up"});
}

Words on_space(const std::string& space, Words words) {
  words.insert(words.begin(), {"nsenter", "--net=" + space, "--"});
  return words;
}

}  // namespace

Status enter_own_network() {
  static const Status left = leave_network();
  return left;
}

OwnNetwork::OwnNetwork(const Words& nodes) {
  switch_.holder = hold_network();
  // Without a delay: a port is used as soon as it is there.
  must(at_switch({"ip", "link", "add", kSwitch, "type", "bridge", "forward_delay", "0"}));
  must(at_switch({"ip", "link", "set", kSwitch, "up"}));
  add(kTest, nullptr);
  for (const std::string& name : nodes) add(name, hold_network());
}

// Its own end goes now, not when the kernel has cleaned up behind the holders.
OwnNetwork::~OwnNetwork() {
  (void)run({"ip", "link", "delete", "eth0"});
}

std::unique_ptr<ChildProcess> OwnNetwork::hold_network() {
  auto holder = std::make_unique<ChildProcess>(
      ChildOptions{.arguments = {"unshare", "--net", "sleep", "infinity"}});
  const std::string own = network_of(::getpid());
  const auto has_left = [&] {
    const std::string its = network_of(holder->pid());
    return !its.empty() && its != own;
  };
  HF_CHECK(eventually(has_left, 10s), "a node has a network of its own");
  return holder;
}

void OwnNetwork::add(const std::string& name, std::unique_ptr<ChildProcess> holder) {
  const size_t number = nodes_.size() + 1;
  Node& node = nodes_[name];
  node.address = fmt::format("10.77.0.{}", number);
  node.port = fmt::format("port{}", number);
  node.holder = std::move(holder);
  must(on(name, {"ip", "link", "add", "eth0", "type", "veth", "peer", "name", node.port, "netns",
                 std::to_string(switch_.holder->pid())}));
  must(at_switch({"ip", "link", "set", node.port, "master", kSwitch, "up"}));
  must(on(name, {"ip", "address", "add", node.address + "/24", "dev", "eth0"}));
  must(on(name, {"ip", "link", "set", "eth0", "up"}));
  must(on(name, {"ip", "link", "set", "lo", "up"}));
}

const OwnNetwork::Node& OwnNetwork::node_of(const std::string& name) const {
  const auto found = nodes_.find(name);
  HF_CHECK(found != nodes_.end(), "a node that is there: " + name);
  return found->second;
}

std::string OwnNetwork::space_of(const Node& node) {
  return fmt::format("/proc/{}/ns/net", node.holder ? node.holder->pid() : ::getpid());
}

Words OwnNetwork::on(const std::string& node, Words words) const {
  return on_space(space_of(node_of(node)), std::move(words));
}

Words OwnNetwork::at_switch(Words words) const {
  return on_space(space_of(switch_), std::move(words));
}

void OwnNetwork::within(const std::string& node, const std::function<void()>& work) const {
  // A thread's network is its own affair, so it takes one that ends.
  std::jthread([&] {
    const int space = ::open(space_of(node_of(node)).c_str(), O_RDONLY | O_CLOEXEC);
    HF_CHECK(space >= 0 && ::setns(space, CLONE_NEWNET) == 0, "a thread can be on a node");
    ::close(space);
    work();
  }).join();
}

void OwnNetwork::isolate(const std::string& node) {
  must(at_switch({"ip", "link", "set", node_of(node).port, "nomaster"}));
}

void OwnNetwork::cut(const std::string& one, const std::string& other) {
  for (const std::string& node : {one, other}) {
    must(at_switch({"bridge", "link", "set", "dev", node_of(node).port, "isolated", "on"}));
  }
}

void OwnNetwork::lose(const std::string& from, const std::string& to) {
  must(on(from, {"ip", "neigh", "replace", address(to), "lladdr", kNobody, "nud", "permanent",
                 "dev", "eth0"}));
}

void OwnNetwork::heal() {
  for (const auto& [name, node] : nodes_) {
    must(at_switch({"ip", "link", "set", node.port, "master", kSwitch}));
    must(at_switch({"bridge", "link", "set", "dev", node.port, "isolated", "off"}));
    must(on(name, {"ip", "neigh", "flush", "dev", "eth0", "nud", "all"}));
  }
}

}  // namespace holdfast::test
