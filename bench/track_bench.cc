// What counting in the kernel costs: connections to a VIP, and connections that are none of ours,
// beside the same without programs and beside nftables' DNAT to the same backend, in one run, in
// batches that take turns. Everything is on loopback, in networks of the benchmark's own; the
// backend's sockets are outside of the cgroup. Promises: connect and close of a tracked connection
// at most 1.25 times the plain one, of one that is for no VIP at most 1.05 times. Needs root.
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "../tests/integration/track_world.h"
#include "bars.h"
#include "base/check.h"
#include "support/child_process.h"

namespace holdfast::bench {
namespace {

using namespace std::chrono_literals;
using test::Socket;

constexpr int kRounds = 200;
constexpr int kTcpBatch = 100;
constexpr const char* kVip = "10.96.0.1";
constexpr const char* kNatVip = "10.97.0.1";

sockaddr_in at(const char* address, uint16_t port) {
  sockaddr_in made{};
  made.sin_family = AF_INET;
  made.sin_port = htons(port);
  const track::Endpoint parsed = test::endpoint(address, port);
  made.sin_addr.s_addr = parsed.address.words[3];
  return made;
}

// A network of its own with DNAT, and one with nothing; this process changes between them.
class Networks {
 public:
  Networks() : plain_(open_own()) {
    HF_CHECK(::unshare(CLONE_NEWNET) == 0, "a second network");
    nat_ = Socket(open_own());
    const test::ProgramResult up = test::run_program({"ip", "link", "set", "lo", "up"}, 10s);
    HF_CHECK(up.exit_code == 0, up.output);
    test::run_program({"ip", "route", "add", "10.97.0.0/16", "dev", "lo"}, 10s);
    plain();
  }
  void plain() { HF_CHECK(::setns(plain_.get(), CLONE_NEWNET) == 0, "back in the first network"); }
  void nat() { HF_CHECK(::setns(nat_.get(), CLONE_NEWNET) == 0, "in the second network"); }

  // False if there is no nftables here.
  bool redirect(uint16_t tcp_port, uint16_t udp_port) {
    const std::string rules = fmt::format(
        "table ip bench {{ chain out {{ type nat hook output priority -100; "
        "ip daddr {0} tcp dport 80 dnat to 127.0.0.1:{1}; "
        "ip daddr {0} udp dport 53 dnat to 127.0.0.1:{2}; }}; }}",
        kNatVip, tcp_port, udp_port);
    const test::ProgramOutcome set =
        test::run_program({.arguments = {"nft", "-f", "-"}, .input = rules});
    if (set.exit_code != 0) std::printf("no DNAT beside it: %s\n", set.error.c_str());
    return set.exit_code == 0;
  }

 private:
  static int open_own() { return ::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC); }
  Socket plain_;
  Socket nat_;
};

// One thing that is timed, where it happens, and what it took.
struct Case {
  std::string name;
  std::function<void()> enter;
  std::function<void()> once;
  std::vector<double> micros{};
};

// Of this thread. Over loopback both ends' packets are handled in the caller's own time, so it is
// all there, and what else the machine does is not.
double cpu_micros() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) * 1e6 + static_cast<double>(used.tv_nsec) / 1e3;
}

double tenth(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 10];
}

void run(std::vector<Case>& cases, int batch) {
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < cases.size(); ++i) {
      // Another one is first in each round.
      Case& each = cases[(i + static_cast<size_t>(round)) % cases.size()];
      each.enter();
      for (int j = 0; j < batch / 10; ++j) each.once();
      const double start = cpu_micros();
      for (int j = 0; j < batch; ++j) each.once();
      each.micros.push_back((cpu_micros() - start) / batch);
    }
  }
}

void print(const char* title, const std::vector<Case>& cases) {
  std::printf("\n%s (10th percentile of %d batches)\n", title, kRounds);
  const double base = tenth(cases.front().micros);
  for (const Case& each : cases) {
    const double value = tenth(each.micros);
    std::printf("  %-34s %8.2f us   x %.3f\n", each.name.c_str(), value, value / base);
  }
}

double ratio(const std::vector<Case>& cases, size_t index) {
  return tenth(cases[index].micros) / tenth(cases.front().micros);
}

void connect_and_close(const Socket& listener, const sockaddr_in& to) {
  const Socket mine(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int made = ::connect(mine.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to));
  HF_CHECK(made == 0, "the backend takes connections");
  const Socket theirs(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  test::reset_on_close(mine);  // no TIME_WAIT: ports do not run out
}

void udp_connect_and_close(const sockaddr_in& to) {
  const Socket mine(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  HF_CHECK(::connect(mine.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to)) == 0, "UDP");
}

void send_to(const Socket& socket, const sockaddr_in& to) {
  ::sendto(socket.get(), "x", 1, 0, reinterpret_cast<const sockaddr*>(&to), sizeof(to));
}

class TrackBench {
 public:
  TrackBench() {
    world_.leave_cgroup();
    listener_ = test::listen_on("127.0.0.1");
    datagrams_ = test::bound_udp("127.0.0.1");
    networks_.nat();
    nat_listener_ = test::listen_on("127.0.0.1");
    nat_datagrams_ = test::bound_udp("127.0.0.1");
    has_nat_ = networks_.redirect(test::port_of(nat_listener_), test::port_of(nat_datagrams_));
    networks_.plain();
    world_.serve({{.vip = test::TrackWorld::vip(),
                   .zone_order = {1},
                   .backends = {test::backend(listener_)}},
                  {.vip = track::make_vip(test::endpoint(kVip, 53), track::Protocol::Udp),
                   .zone_order = {1},
                   .backends = {test::backend(datagrams_)}}});
  }
  ~TrackBench() { networks_.plain(); }

  void tcp() {
    const sockaddr_in direct = at("127.0.0.1", test::port_of(listener_));
    std::vector<Case> cases = three([this, direct] { connect_and_close(listener_, direct); },
                                    [this] { connect_and_close(listener_, at(kVip, 80)); });
    if (has_nat_) {
      cases.push_back({"nftables DNAT", [this] { natted(); },
                       [this] { connect_and_close(nat_listener_, at(kNatVip, 80)); }});
    }
    run(cases, kTcpBatch);
    print("TCP: socket, connect, accept, close", cases);
    bar_at_most("track_connect_close_ratio", ratio(cases, 1), 1.25);
    bar_at_most("track_other_connect_close_ratio", ratio(cases, 2), 1.05);
    if (has_nat_) bar_at_most("track_beside_dnat_ratio", ratio(cases, 1) / ratio(cases, 3), 1.0);
    balanced();
  }

  void udp() {
    const sockaddr_in direct = at("127.0.0.1", test::port_of(datagrams_));
    std::vector<Case> sockets = three([direct] { udp_connect_and_close(direct); },
                                      [] { udp_connect_and_close(at(kVip, 53)); });
    run(sockets, 300);
    print("UDP: socket, connect, close", sockets);
    Socket outside(test::udp_socket());
    world_.enter_cgroup();
    Socket inside(test::udp_socket());
    networks_.nat();
    Socket beyond(test::udp_socket());
    networks_.plain();
    std::vector<Case> sends =
        three([&] { send_to(inside, direct); }, [&] { send_to(inside, at(kVip, 53)); });
    sends[0].once = [&] { send_to(outside, direct); };
    if (has_nat_) {
      sends.push_back(
          {"nftables DNAT", [this] { natted(); }, [&] { send_to(beyond, at(kNatVip, 53)); }});
    }
    run(sends, 300);
    print("UDP: sendto of a socket that is not connected", sends);
    bar_at_most("track_udp_send_ratio", ratio(sends, 1), 1.15);
  }

 private:
  std::vector<Case> three(const std::function<void()>& direct, const std::function<void()>& vip) {
    return {{"no programs", [this] { outside(); }, direct},
            {"to a VIP, counted", [this] { inside(); }, vip},
            {"programs, but for no VIP", [this] { inside(); }, direct}};
  }
  void inside() {
    networks_.plain();
    world_.enter_cgroup();
  }
  void outside() {
    networks_.plain();
    world_.leave_cgroup();
  }
  void natted() {
    world_.leave_cgroup();
    networks_.nat();
  }
  // What was measured did count.
  void balanced() {
    inside();
    const test::Opened counts = world_.counts();
    HF_CHECK(counts.opened == kRounds * kTcpBatch * 11U / 10 && counts.closed == counts.opened,
             fmt::format("every connection was counted: {}/{}", counts.opened, counts.closed));
  }

  test::TrackWorld world_;
  Networks networks_;
  Socket listener_;
  Socket datagrams_;
  Socket nat_listener_;
  Socket nat_datagrams_;
  bool has_nat_ = false;
};

}  // namespace
}  // namespace holdfast::bench

int main() {
  if (const std::string why = holdfast::test::TrackWorld::why_not(); !why.empty()) {
    std::printf("track_bench measures nothing here: %s\n", why.c_str());
    return 0;
  }
  holdfast::bench::TrackBench bench;
  bench.tcp();
  bench.udp();
  return 0;
}
