#include "track_world.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <array>
#include <chrono>
#include <csignal>
#include <fstream>
#include <sstream>

#include "base/check.h"
#include "support/eventually.h"
#include "support/netns.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

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

std::string own_cgroup() {
  std::ifstream lines("/proc/self/cgroup");
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("0::")) return line.substr(3);
  }
  return "/";
}

void join(const std::string& procs) {
  std::ofstream file(procs);
  file << ::getpid() << std::flush;
  HF_CHECK(file.good(), "a process may change its cgroup: " + procs);
}

void raise_file_limit() {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
}

struct Place {
  sockaddr_storage storage{};
  socklen_t length = 0;
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

Place place(const std::string& address, uint16_t port) {
  Place made;
  if (address.find(':') == std::string::npos) {
    auto* four = reinterpret_cast<sockaddr_in*>(&made.storage);
    four->sin_family = AF_INET;
    four->sin_port = htons(port);
    HF_CHECK(inet_pton(AF_INET, address.c_str(), &four->sin_addr) == 1, address);
    made.length = sizeof(sockaddr_in);
  } else {
    auto* six = reinterpret_cast<sockaddr_in6*>(&made.storage);
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(port);
    HF_CHECK(inet_pton(AF_INET6, address.c_str(), &six->sin6_addr) == 1, address);
    made.length = sizeof(sockaddr_in6);
  }
  return made;
}

std::string text_of(const sockaddr_storage& storage) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (storage.ss_family == AF_INET) {
    const auto* four = reinterpret_cast<const sockaddr_in*>(&storage);
    inet_ntop(AF_INET, &four->sin_addr, text.data(), text.size());
    return fmt::format("{}:{}", text.data(), ntohs(four->sin_port));
  }
  const auto* six = reinterpret_cast<const sockaddr_in6*>(&storage);
  inet_ntop(AF_INET6, &six->sin6_addr, text.data(), text.size());
  return fmt::format("[{}]:{}", text.data(), ntohs(six->sin6_port));
}

Socket bound(const std::string& address, int type) {
  Place where = place(address, 0);
  Socket socket(::socket(where.storage.ss_family, type | SOCK_CLOEXEC, 0));
  HF_CHECK(::bind(socket.get(), where.get(), where.length) == 0, "bound " + address);
  return socket;
}

}  // namespace

std::string TrackWorld::why_not() {
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

TrackWorld::TrackWorld() {
  const std::string mount = cgroup2_mount();
  outside_ = mount + own_cgroup() + "/cgroup.procs";
  // A process id is not unique: tests run in pid namespaces. The folder's name is.
  options.cgroup = fmt::format("{}/hf-track-{}", mount, dir_.path().filename().string());
  options.directory = dir_.file("pins");
  options.mount_bpffs = true;
  options.settings.probe_after_ns = 200'000'000;
  HF_CHECK(::mkdir(options.cgroup.c_str(), 0755) == 0, "a cgroup of its own: " + options.cgroup);
  const auto loaded = track::load(options);
  HF_CHECK(loaded.ok(), loaded.status().ToString());
  restart_agent();
  enter_cgroup();
  raise_file_limit();
}

TrackWorld::~TrackWorld() {
  leave_cgroup();
  pins.reset();
  const Status unloaded = track::unload(options.directory);
  HF_CHECK(unloaded.ok(), unloaded.ToString());
  HF_CHECK(::umount2(options.directory.c_str(), MNT_DETACH) == 0, "the bpffs can be unmounted");
  const bool gone = eventually([this] { return ::rmdir(options.cgroup.c_str()) == 0; }, 5s);
  HF_CHECK(gone, "no process is left in " + options.cgroup);
}

void TrackWorld::enter_cgroup() {
  join(options.cgroup + "/cgroup.procs");
}
void TrackWorld::leave_cgroup() {
  join(outside_);
}

track::Vip TrackWorld::vip() {
  return track::make_vip(endpoint("10.96.0.1", 80), track::Protocol::Tcp);
}

void TrackWorld::serve(const std::vector<track::ServiceSpec>& services) {
  served_ = services;
  const auto samples = pins->counters();
  HF_CHECK(samples.ok(), samples.status().ToString());
  const track::Changes changes = model->reconcile(services, track::busy_keys(*samples));
  const Status applied = pins->apply(changes.writes);
  HF_CHECK(applied.ok(), applied.ToString());
}

void TrackWorld::serve(const std::vector<track::Backend>& backends) {
  serve(std::vector<track::ServiceSpec>{
      {.vip = vip(), .zone_order = {1, 2, 3}, .backends = backends}});
}

track::CounterSample TrackWorld::sample(uint8_t zone, int service) {
  const auto id = model->id_of(served_.at(static_cast<size_t>(service)).vip);
  HF_CHECK(id.has_value(), "a service that is served");
  const auto samples = pins->counters();
  HF_CHECK(samples.ok(), samples.status().ToString());
  for (const track::CounterSample& found : *samples) {
    if (found.key == track::make_key(*id, zone)) return found;
  }
  return {};
}

Opened TrackWorld::counts(uint8_t zone, int service) {
  const hf_counts counts = sample(zone, service).counts;
  return {.opened = counts.opened, .closed = counts.closed};
}

bool TrackWorld::comes_to(const Opened& wanted, uint8_t zone, int service) {
  return eventually(
      [&] {
        const track::CounterSample found = sample(zone, service);
        const bool counted =
            Opened{.opened = found.counts.opened, .closed = found.counts.closed} == wanted;
        return counted && found.reserved == wanted.opened - wanted.closed;
      },
      5s);
}

size_t TrackWorld::alive() {
  const auto flows = pins->alive();
  HF_CHECK(flows.ok(), flows.status().ToString());
  return flows->size();
}

void TrackWorld::restart_agent() {
  pins.reset();
  auto opened = track::Pins::open(options.directory);
  HF_CHECK(opened.ok(), opened.status().ToString());
  pins = *std::move(opened);
  const auto present = pins->read();
  HF_CHECK(present.ok(), present.status().ToString());
  model = std::make_unique<track::Model>(pins->sizes(), *present);
}

Result<track::Loaded> TrackWorld::load_again() {
  return track::load(options);
}

track::Endpoint endpoint(const std::string& address, uint16_t port) {
  return {.address = *track::parse_address(address), .port = port};
}

track::Backend backend(const Socket& listener, uint8_t zone) {
  sockaddr_storage storage{};
  socklen_t length = sizeof(storage);
  ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&storage), &length);
  const std::string text = text_of(storage);
  std::string address = text.substr(0, text.rfind(':'));
  if (address.front() == '[') address = address.substr(1, address.size() - 2);
  return {.at = endpoint(address, port_of(listener)), .zone = zone};
}

Socket listen_on(const std::string& address, int backlog) {
  Socket socket = bound(address, SOCK_STREAM);
  HF_CHECK(::listen(socket.get(), backlog) == 0, "a socket that listens");
  return socket;
}

Socket bound_udp(const std::string& address) {
  return bound(address, SOCK_DGRAM);
}

uint16_t port_of(const Socket& socket) {
  sockaddr_storage storage{};
  socklen_t length = sizeof(storage);
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&storage), &length);
  return ntohs(reinterpret_cast<sockaddr_in*>(&storage)->sin_port);  // the same place in both
}

std::string peer_name(const Socket& socket) {
  sockaddr_storage storage{};
  socklen_t length = sizeof(storage);
  if (::getpeername(socket.get(), reinterpret_cast<sockaddr*>(&storage), &length) != 0) return "";
  return text_of(storage);
}

int try_connect(const Socket& socket, const std::string& address, uint16_t port) {
  Place where = place(address, port);
  return ::connect(socket.get(), where.get(), where.length);
}

Socket tcp_socket(int family) {
  return Socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
}
Socket udp_socket(int family) {
  return Socket(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
}

Socket connected(const std::string& address, uint16_t port) {
  Socket socket = tcp_socket(address.find(':') == std::string::npos ? AF_INET : AF_INET6);
  HF_CHECK(try_connect(socket, address, port) == 0, std::strerror(errno));
  return socket;
}

Socket accepted(const Socket& listener) {
  return Socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
}

int send_text(const Socket& socket, const std::string& text, const track::Endpoint& to) {
  Place where = place(track::to_string(to.address), to.port);
  return static_cast<int>(
      ::sendto(socket.get(), text.data(), text.size(), 0, where.get(), where.length));
}

std::string received(const Socket& socket, std::string* from) {
  std::array<char, 256> bytes{};
  sockaddr_storage storage{};
  socklen_t length = sizeof(storage);
  const timeval patience{.tv_sec = 5, .tv_usec = 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  const ssize_t got = ::recvfrom(socket.get(), bytes.data(), bytes.size(), 0,
                                 reinterpret_cast<sockaddr*>(&storage), &length);
  if (from != nullptr) *from = got < 0 ? "" : text_of(storage);
  return got < 0 ? "" : std::string(bytes.data(), static_cast<size_t>(got));
}

void reset_on_close(const Socket& socket) {
  const linger now{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

Forked::Forked(const std::function<int()>& work) : pid_(::fork()) {
  HF_CHECK(pid_ >= 0, "a child");
  if (pid_ == 0) ::_exit(work());
}

Forked::~Forked() {
  if (pid_ > 0) kill();
}

void Forked::kill() {
  ::kill(pid_, SIGKILL);
  ::waitpid(std::exchange(pid_, -1), nullptr, 0);
}

int Forked::wait() {
  int status = 0;
  ::waitpid(std::exchange(pid_, -1), &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace holdfast::test
