// A cgroup with our programs attached, in a network of its own, for tests of what the kernel
// counts. The test's process is in the cgroup, so every socket it or its children make passes the
// programs. Pins are on a bpffs in the test's own mounts: all of it goes with the process, however
// it ends, except the cgroup's folder, which the destructor removes.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "support/temp_dir.h"
#include "track/bpf_loader.h"
#include "track/pins_service.h"

namespace holdfast::test {

// A file descriptor that closes itself.
using Socket = track::Descriptor;

struct Opened {
  uint32_t opened = 0;
  uint32_t closed = 0;
  bool operator==(const Opened&) const = default;
};

class TrackWorld {
 public:
  // Why the programs cannot be tested on this machine; empty if they can. Leaves the machine's
  // network the first time, so it is called before there are threads.
  static std::string why_not();

  TrackWorld();
  ~TrackWorld();
  TrackWorld(const TrackWorld&) = delete;
  TrackWorld& operator=(const TrackWorld&) = delete;

  // The one VIP of most tests, 10.96.0.1:80 over TCP, and where it leads.
  static track::Vip vip();
  void serve(const std::vector<track::ServiceSpec>& services);
  // vip() with these backends.
  void serve(const std::vector<track::Backend>& backends);

  Opened counts(uint8_t zone = 1, int service = 0);
  track::CounterSample sample(uint8_t zone = 1, int service = 0);
  // Whether the counts become so within a few seconds, and the sockets alive agree with them.
  bool comes_to(const Opened& wanted, uint8_t zone = 1, int service = 0);
  size_t alive();

  // The agent dies and another one opens what is pinned.
  void restart_agent();
  Result<track::Loaded> load_again();
  void leave_cgroup();  // this process, until it enters again
  void enter_cgroup();

  track::LoadOptions options{};
  std::unique_ptr<track::Pins> pins{};
  std::unique_ptr<track::Model> model{};

 private:
  std::vector<track::ServiceSpec> served_{};
  TempDir dir_;
  std::string outside_;  // cgroup.procs of where the process was
};

// ---- sockets of the test itself ----

track::Endpoint endpoint(const std::string& address, uint16_t port);
track::Backend backend(const Socket& listener, uint8_t zone = 1);

Socket listen_on(const std::string& address, int backlog = 512);
Socket bound_udp(const std::string& address);
uint16_t port_of(const Socket& socket);
// "10.96.0.1:80", "[::1]:5"; empty if it has no peer.
std::string peer_name(const Socket& socket);

// -1 with errno if it fails; `type` is SOCK_STREAM or SOCK_DGRAM.
int try_connect(const Socket& socket, const std::string& address, uint16_t port);
Socket tcp_socket(int family = 2);
Socket udp_socket(int family = 2);
Socket connected(const std::string& address, uint16_t port);  // TCP; checks that it worked
Socket accepted(const Socket& listener);
int send_text(const Socket& socket, const std::string& text, const track::Endpoint& to);
// What came, and from whom.
std::string received(const Socket& socket, std::string* from = nullptr);
void reset_on_close(const Socket& socket);  // linger 0

// ---- processes of the test itself ----

// A child that does this and ends with its return value; killed when the owner goes.
class Forked {
 public:
  explicit Forked(const std::function<int()>& work);
  ~Forked();
  Forked(Forked&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  Forked& operator=(Forked&&) = delete;

  void kill();
  int wait();  // the exit code
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

}  // namespace holdfast::test
