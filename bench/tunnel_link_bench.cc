// One tunnel's link with sockets at both ends (client → proxy ═TLS═ agent → app), beside a raw TLS
// 1.3 connection with the same cipher and plain loopback, in the same run. Promises: bulk at least
// 0.7 of raw TLS, an echo beside a bulk transfer within 5 ms (p99), at most 60 KiB of the proxy's
// memory per idle tunnel.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <functional>
#include <string_view>
#include <thread>
#include <vector>

#include "bars.h"
#include "delays.h"
#include "process_usage.h"
#include "tunnel_link_sides.h"

namespace holdfast::bench {
namespace {

struct Way {
  const char* name;
  uint16_t port;
  SSL_CTX* context;
};

constexpr double kSeconds = 1;

class Load {
 public:
  explicit Load(const Way& way) : way_(way) {}
  ~Load() { end(); }

  void bulk(char direction, int count) {
    for (int i = 0; i < count; ++i) start([this, direction] { transfer(direction); });
  }
  void echo(int count) {
    for (int i = 0; i < count; ++i) start([this] { ping_pong(); });
  }
  void connect(int workers) {
    for (int i = 0; i < workers; ++i) start([this] { connect_again_and_again(); });
  }
  void let_run() { ::usleep(static_cast<useconds_t>(kSeconds * 1e6)); }
  void end() {
    ended_ = true;
    for (const auto& wire : wires_) wire->cut();
    threads_.clear();
    wires_.clear();
  }

  std::atomic<uint64_t> bytes = 0;
  DelayHistogram delays;

 private:
  void start(const std::function<void()>& body) { threads_.emplace_back(body); }

  Wire* connection() {
    std::unique_ptr<Wire> made = connect_to(way_.port, way_.context);
    if (made == nullptr) return nullptr;
    const std::lock_guard lock(mutex_);
    return wires_.emplace_back(std::move(made)).get();
  }

  void transfer(char direction) {
    Wire* wire = connection();
    std::vector<char> buffer(256 << 10);
    wire->write(&direction, 1);
    while (!ended_) {
      if (direction == 'D') {
        const ssize_t count = wire->read(buffer.data(), buffer.size());
        if (count <= 0) return;
        bytes += static_cast<uint64_t>(count);
      } else {
        if (!wire->write(buffer.data(), 64 << 10)) return;
        bytes += 64 << 10;
      }
    }
  }

  bool exchange(Wire& wire) {
    char message[64] = {};
    if (!wire.write(message, sizeof message)) return false;
    size_t got = 0;
    while (got < sizeof message) {
      const ssize_t count = wire.read(message, sizeof message - got);
      if (count <= 0) return false;
      got += static_cast<size_t>(count);
    }
    return true;
  }

  void ping_pong() {
    Wire* wire = connection();
    wire->write("E", 1);
    exchange(*wire);
    while (!ended_) {
      const int64_t start = now_nanoseconds();
      if (!exchange(*wire)) return;
      delays.record(now_nanoseconds() - start);
    }
  }

  void connect_again_and_again() {
    while (!ended_) {
      const int64_t start = now_nanoseconds();
      const std::unique_ptr<Wire> wire = connect_to(way_.port, way_.context);
      if (wire == nullptr || !wire->write("E", 1) || !exchange(*wire)) continue;
      delays.record(now_nanoseconds() - start);
    }
  }

  Way way_;
  std::atomic<bool> ended_ = false;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Wire>> wires_;
  std::vector<std::jthread> threads_;
};

double bulk(const Way& way, char direction, int count) {
  Load load(way);
  load.bulk(direction, count);
  ::usleep(200'000);
  load.bytes = 0;
  load.let_run();
  return static_cast<double>(load.bytes) / 1e6 / kSeconds;
}

struct Echo {
  double p50, p99, rate;
};
Echo echo(const Way& way, int count, bool beside_bulk) {
  Load heavy(way), load(way);
  if (beside_bulk) heavy.bulk('D', 1);
  load.echo(count);
  load.let_run();
  return {load.delays.percentile_ms(0.5) * 1e3, load.delays.percentile_ms(0.99) * 1e3,
          static_cast<double>(load.delays.count()) / kSeconds};
}

double connections(const Way& way) {
  Load load(way);
  load.connect(32);
  load.let_run();
  return static_cast<double>(load.delays.count()) / kSeconds;
}

struct Row {
  double down1, up1, down16, up16;
  Echo one, many, beside;
  double connects;
};

Row measure(const Way& way, std::string_view only) {
  const auto wanted = [&](std::string_view part) { return only.empty() || only == part; };
  Row row{};
  if (wanted("bulk1")) row.down1 = bulk(way, 'D', 1);
  if (wanted("bulk1")) row.up1 = bulk(way, 'U', 1);
  if (wanted("bulk16")) row.down16 = bulk(way, 'D', 16);
  if (wanted("bulk16")) row.up16 = bulk(way, 'U', 16);
  if (wanted("echo1")) row.one = echo(way, 1, false);
  if (wanted("echo64")) row.many = echo(way, 64, false);
  if (wanted("beside")) row.beside = echo(way, 1, true);
  if (wanted("connect")) row.connects = connections(way);
  std::printf("%-8s %6.0f %6.0f %6.0f %6.0f | %5.0f %5.0f | %7.0f %6.0f | %6.0f %6.0f | %6.0f\n",
              way.name, row.down1, row.up1, row.down16, row.up16, row.one.p50, row.one.p99,
              row.many.rate, row.many.p99, row.beside.p50, row.beside.p99, row.connects);
  std::fflush(stdout);
  return row;
}

double idle_kib(const Credentials& credentials) {
  const auto memory = [&](int idle) {
    const Sides sides = start_sides(credentials, idle);
    ::usleep(1'000'000 + static_cast<useconds_t>(idle) * 10'000);
    const double mib = memory_mib(sides.proxy);
    stop_sides(sides);
    return mib;
  };
  constexpr int kTunnels = 200;
  return (memory(kTunnels) - memory(0)) * 1024 / kTunnels;
}

// What does not depend on who else uses the machine: CPU time of both sides for what they carry.
void print_cpu(const Sides& sides) {
  const Way way{"tunnel", sides.proxy_port, nullptr};
  const auto used = [&] { return cpu_seconds(sides.proxy) + cpu_seconds(sides.agent); };
  double before = used();
  const double down = bulk(way, 'D', 1) * (kSeconds + 0.2) / 1e3;
  std::printf("cpu s/GB down %.2f", (used() - before) / down);
  before = used();
  const double up = bulk(way, 'U', 1) * (kSeconds + 0.2) / 1e3;
  std::printf(", up %.2f", (used() - before) / up);
  for (const int count : {1, 64}) {
    before = used();
    const double messages = echo(way, count, false).rate * kSeconds;
    std::printf(", us/echo with %d %.1f", count, (used() - before) * 1e6 / messages);
  }
  before = used();
  const double connects = connections(way) * kSeconds;
  std::printf(", us/connection %.0f\n", (used() - before) * 1e6 / connects);
}

// A line to compare two builds by, the tunnel alone: MB/s and CPU s/GB of both sides for each kind
// of bulk, then echoes.
void print_quick(const Sides& sides, bool with_bulk) {
  const Way way{"tunnel", sides.proxy_port, nullptr};
  const auto used = [&] { return cpu_seconds(sides.proxy) + cpu_seconds(sides.agent); };
  for (const int count : {1, 16}) {
    for (const char direction : {'D', 'U'}) {
      if (!with_bulk) continue;
      const double before = used();
      const double rate = bulk(way, direction, count);
      const double spent = used() - before;
      std::printf("%c%d %4.0f MB/s %.2f s/GB | ", direction, count, rate,
                  spent / (rate * (kSeconds + 0.2) / 1e3));
    }
  }
  for (const int count : {1, 64}) {
    const double before = used();
    const double rate = echo(way, count, false).rate;
    std::printf("echo%d %5.0f/s %5.1f us | ", count, rate,
                (used() - before) * 1e6 / (rate * kSeconds));
  }
  std::printf("\n");
}

int run(std::string_view only) {
  const Credentials credentials = make_credentials();
  const Sides sides = start_sides(credentials, 0);
  if (only == "quick" || only == "quick-echo") {
    ::usleep(300'000);
    print_quick(sides, only == "quick");
    stop_sides(sides);
    return 0;
  }
  SSL_CTX* raw_context = make_raw_context(credentials, false);
  ::usleep(300'000);
  std::printf(
      "         bulk MB/s             echo1 us      echo64         beside bulk     conns/s\n"
      "way      down1   up1  down16  up16 |  p50   p99 |  req/s    p99 |   p50    p99 |\n");
  const Row tls = measure({"raw tls", sides.tls_port, raw_context}, only);
  const Row tunnel = measure({"tunnel", sides.proxy_port, nullptr}, only);
  if (only.empty() || only == "cpu") print_cpu(sides);
  measure({"plain", sides.app_port, nullptr}, only);
  stop_sides(sides);
  bar_at_least("bulk_down_of_raw_tls", tunnel.down1 / tls.down1, 0.7);
  bar_at_least("bulk_up_of_raw_tls", tunnel.up1 / tls.up1, 0.7);
  bar_at_most("echo_beside_bulk_p99_ms", tunnel.beside.p99 / 1e3, 5);
  if (only.empty() || only == "idle") bar_at_most("idle_tunnel_kib", idle_kib(credentials), 60);
  return 0;
}

}  // namespace
}  // namespace holdfast::bench

int main(int count, char** words) {
  std::signal(SIGPIPE, SIG_IGN);  // of connections under TLS that are cut
  return holdfast::bench::run(count > 1 ? words[1] : "");
}
