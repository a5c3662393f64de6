#include "e2e/load_balancer.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/check.h"
#include "support/eventually.h"
#include "support/free_ports.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

// Half a second is long on loopback; a refusal goes on to another server at once.
constexpr const char* kConfiguration = R"(global
  maxconn 4000
  nbthread 1
  stats socket {folder}/admin mode 600 level admin
defaults
  mode tcp
  timeout connect 500ms
  timeout client 1h
  timeout server 1h
  retries 3
  option redispatch 1
frontend clients
  bind 127.0.0.1:{port}
  default_backend servers
backend servers
  balance roundrobin
)";

std::string contents_of(const std::string& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// The inodes of the sockets this process has open.
std::set<std::string> own_sockets() {
  std::set<std::string> inodes;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
    if (target.starts_with("socket:[")) inodes.insert(target.substr(8, target.size() - 9));
  }
  return inodes;
}

// "0100007F:1F90" is port 8080.
uint16_t port_of(const std::string& address) {
  return static_cast<uint16_t>(std::stoul(address.substr(address.rfind(':') + 1), nullptr, 16));
}

// The text after `key` up to the next space, as in "src=127.0.0.1:40512 fe=...".
std::string load_balancer_value_of(const std::string& line, const std::string& key) {
  const size_t at = line.find(" " + key + "=");
  if (at == std::string::npos) return {};
  const size_t begin = at + key.size() + 2;
  return line.substr(begin, line.find(' ', begin) - begin);
}

}  // namespace

LoadBalancer::LoadBalancer(const std::vector<Backend>& backends)
    : port_(free_ports(1).front()), address_(fmt::format("127.0.0.1:{}", port_)) {
  write_configuration(backends);
  process_ = std::make_unique<ChildProcess>(
      ChildOptions{.arguments = {"haproxy", "-db", "-q", "-f", folder_.file("configuration")},
                   .output_file = folder_.file("log")});
  const auto answers = [&] { return !ask("show info").empty() || !process_->running(); };
  HF_CHECK(eventually(answers, 10s) && process_->running(),
           "haproxy runs: " + contents_of(folder_.file("log")));
}

void LoadBalancer::write_configuration(const std::vector<Backend>& backends) const {
  std::ofstream file(folder_.file("configuration"));
  file << fmt::format(fmt::runtime(kConfiguration), fmt::arg("folder", folder_.file("")),
                      fmt::arg("port", port_));
  for (const Backend& backend : backends) {
    file << fmt::format("  server {} {}{}\n", backend.name, backend.address,
                        backend.takes_new ? "" : " disabled");
  }
}

void LoadBalancer::set_takes_new(const std::string& backend, bool takes) {
  const std::string said =
      ask(fmt::format("set server servers/{} state {}", backend, takes ? "ready" : "maint"));
  HF_CHECK(said.find_first_not_of(" \n") == std::string::npos, "haproxy agrees: " + said);
}

std::map<uint16_t, std::string> LoadBalancer::backend_of_port() const {
  std::map<uint16_t, std::string> found;
  std::istringstream sessions(ask("show sess"));
  for (std::string line; std::getline(sessions, line);) {
    const std::string source = load_balancer_value_of(line, "src");
    const size_t colon = source.rfind(':');
    if (!source.starts_with("127.0.0.1:")) continue;
    found[static_cast<uint16_t>(std::stoul(source.substr(colon + 1)))] =
        load_balancer_value_of(line, "srv");
  }
  return found;
}

std::map<std::string, size_t> LoadBalancer::own_connections() const {
  std::map<std::string, size_t> count;
  const std::map<uint16_t, std::string> backends = backend_of_port();
  for (const uint16_t port : own_ports_towards(port_)) {
    const auto found = backends.find(port);
    ++count[found == backends.end() ? "none" : found->second];
  }
  return count;
}

// One command on a connection of its own; empty while nobody listens.
std::string LoadBalancer::ask(const std::string& command) const {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = folder_.file("admin");
  HF_CHECK(path.size() < sizeof(address.sun_path), "the socket's path fits its address");
  std::ranges::copy(path, address.sun_path);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::string answer;
  const std::string line = command + "\n";
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  if (::connect(socket, generic, sizeof(address)) == 0 &&
      ::send(socket, line.data(), line.size(), MSG_NOSIGNAL) > 0) {
    char buffer[16384];
    for (ssize_t got = 0; (got = ::read(socket, buffer, sizeof(buffer))) > 0;) {
      answer.append(buffer, static_cast<size_t>(got));
    }
  }
  ::close(socket);
  return answer;
}

std::vector<uint16_t> own_ports_towards(uint16_t port) {
  constexpr const char* kEstablished = "01";
  const std::set<std::string> sockets = own_sockets();
  std::vector<uint16_t> ports;
  for (const char* file : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream table(file);
    std::string line;
    std::getline(table, line);  // the headings
    while (std::getline(table, line)) {
      std::istringstream words(line);
      std::string slot, local, remote, state, queues, timer, retries, user, timeout, inode;
      words >> slot >> local >> remote >> state >> queues >> timer >> retries >> user >> timeout >>
          inode;
      if (state != kEstablished || port_of(remote) != port || !sockets.contains(inode)) continue;
      ports.push_back(port_of(local));
    }
  }
  return ports;
}

}  // namespace holdfast::test
