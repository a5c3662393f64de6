#include "e2e/controller_process.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iterator>

#include "base/check.h"
#include "support/eventually.h"
#include "support/free_ports.h"
#include "support/paths.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

template <typename Address>
bool accepts(int family, const Address& address) {
  const int socket = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  const bool connected = ::connect(socket, generic, sizeof(address)) == 0;
  ::close(socket);
  return connected;
}

}  // namespace

ProgramOutcome run_cli(const std::string& server, Arguments arguments, std::string input) {
  arguments.insert(arguments.begin(), {built("holdfast"), "--server", server});
  return run_program({.arguments = std::move(arguments), .input = std::move(input)});
}

ProgramOutcome run_daemon(Arguments arguments) {
  arguments.insert(arguments.begin(), built("holdfastd"));
  return run_program({.arguments = std::move(arguments)});
}

ControllerProcess::ControllerProcess(Arguments arguments) : arguments_(std::move(arguments)) {
  const std::vector<uint16_t> ports = free_ports(3);
  port_ = ports[0];
  https_port_ = ports[1];
  health_port_ = ports[2];
  // What a test says later wins, except that `--listen` adds one more.
  const auto given = [&](const char* flag) { return std::ranges::count(arguments_, flag) > 0; };
  Arguments all = {built("holdfastd"), "controller", "--data-dir",
                   data_dir(),         "--listen",   tcp_server()};
  if (!given("--http-listen")) all.insert(all.end(), {"--http-listen", https_server()});
  if (!given("--health-listen")) all.insert(all.end(), {"--health-listen", health_server()});
  arguments_.insert(arguments_.begin(), all.begin(), all.end());
  start();
}

void ControllerProcess::hang_up() const {
  ::kill(pid(), SIGHUP);
}

void ControllerProcess::start(const Arguments& more) {
  Arguments all = arguments_;
  all.insert(all.end(), more.begin(), more.end());
  process_ = std::make_unique<ChildProcess>(
      ChildOptions{.arguments = std::move(all), .output_file = folder_.file("log")});
  const bool in_time = eventually([&] { return ready() || !process_->running(); }, 20s);
  HF_CHECK(in_time && process_->running(), "the controller is ready within 20 s: " + log());
}

bool ControllerProcess::ready() const {
  sockaddr_un local{};
  local.sun_family = AF_UNIX;
  const std::string path = socket();
  HF_CHECK(path.size() < sizeof(local.sun_path), "the socket's path fits its address");
  std::ranges::copy(path, local.sun_path);
  // The last listener to open, unless the test has it elsewhere.
  sockaddr_in health{};
  health.sin_family = AF_INET;
  health.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  health.sin_port = htons(health_port_);
  const bool ours = std::ranges::find(arguments_, health_server()) != arguments_.end();
  return accepts(AF_UNIX, local) && (!ours || accepts(AF_INET, health));
}

std::string ControllerProcess::on_loopback(uint16_t port) {
  return fmt::format("127.0.0.1:{}", port);
}

std::string ControllerProcess::log() const {
  std::ifstream file(folder_.file("log"));
  return {std::istreambuf_iterator<char>(file), {}};
}

size_t ControllerProcess::memory_bytes() const {
  std::ifstream statm(fmt::format("/proc/{}/statm", pid()));
  size_t size = 0;
  size_t resident = 0;
  statm >> size >> resident;
  return resident * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

size_t ControllerProcess::peak_memory_bytes() const {
  std::ifstream status(fmt::format("/proc/{}/status", pid()));
  std::string word;
  size_t kilobytes = 0;
  while (status >> word && word != "VmHWM:") {
  }
  status >> kilobytes;
  return kilobytes * 1024;
}

std::string service_yaml(const std::string& name, int port) {
  return fmt::format(
      "kind: service\nmetadata: {{name: {}}}\nspec: {{ports: [{{port: {}, protocol: tcp}}]}}\n",
      name, port);
}

Arguments node_command(const std::string& role, const std::string& data_dir) {
  Arguments words = {built("holdfastd"), role, "--data-dir", data_dir};
  if (role != "proxy") return words;
  for (const char* flag : {"--tunnel-listen", "--peer-listen", "--public-listen"}) {
    words.insert(words.end(), {flag, "127.0.0.1:0"});
  }
  words.insert(words.end(), {"--advertise-host", "127.0.0.1"});
  return words;
}

}  // namespace holdfast::test
