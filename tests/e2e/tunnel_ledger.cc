#include "e2e/tunnel_ledger.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "e2e/tunnel_app.h"
#include "support/child_process.h"
#include "support/eventually.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

constexpr Duration kAnswer = 60s;  // an open connection that is silent for so long is lost
constexpr uint64_t kStreamRecords = (4 << 20) / sizeof(Record);
constexpr uint64_t kAhead = (256 << 10) / sizeof(Record);

Time now() {
  return SystemClock().now();
}

}  // namespace

std::string to_string(const LedgerTotals& totals) {
  return fmt::format(
      "{} connections, {} finished, {} lost, {} unreachable, {} tried another proxy first; {} "
      "records, {} bytes lost, {} silently, {} doubled; longest to open {}",
      totals.opened, totals.finished, totals.lost, totals.unreachable, totals.retried,
      totals.records, totals.bytes_lost, totals.bytes_silently_lost, totals.bytes_doubled,
      to_short_string(totals.longest_open));
}

// One connection of records.
class Traffic::Client {
 public:
  explicit Client(uint64_t id) : id_(id) {}
  ~Client() { close(); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Connected, and the first record is back.
  bool open(uint16_t port, Duration patience) {
    close();
    port_ = port;
    sent_ = 0;
    came_ = 0;
    in_turn_ = 0;
    ended_ = false;
    torn_ = false;
    socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    set_timeout(patience);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
      return false;
    const int on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const bool back = send(1) && receive(1);
    set_timeout(kAnswer);
    return back;
  }

  bool send(uint64_t count) {
    std::vector<Record> records(count);
    for (Record& record : records) record = {.connection = id_, .number = ++sent_};
    const char* bytes = reinterpret_cast<const char*>(records.data());
    size_t left = records.size() * sizeof(Record);
    while (left > 0) {
      const ssize_t wrote = ::send(socket_, bytes, left, MSG_NOSIGNAL);
      if (wrote <= 0) {
        sent_ -= left / sizeof(Record);
        // It had ended in order before: what came until then is still there to read.
        if (errno == EPIPE) (void)receive(UINT64_MAX);
        return false;
      }
      bytes += wrote;
      left -= static_cast<size_t>(wrote);
    }
    return true;
  }

  bool receive(uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
      const std::optional<Record> record = read();
      if (!record) return false;
      take(*record);
    }
    return true;
  }

  // Nothing more to send: the peer ends too, with nothing after.
  bool finish() {
    ::shutdown(socket_, SHUT_WR);
    if (read() || torn_) ++doubled_;
    return ended_ && doubled() == 0 && missing() == 0;
  }

  uint16_t port() const { return port_; }
  uint64_t received() const { return received_; }
  uint64_t doubled() const { return doubled_ + foreign_; }
  uint64_t missing() const { return sent_ - std::min(sent_, in_turn_); }
  // Missing, though nothing told so. If the peer was killed its end in order means nothing.
  uint64_t untold(bool killed) const { return ended_ && !killed ? missing() : skipped_; }

 private:
  void close() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }
  // Nothing once the connection is over, or silent for too long.
  std::optional<Record> read() {
    Record record;
    char* into = reinterpret_cast<char*>(&record);
    for (size_t left = sizeof record; left > 0;) {
      const ssize_t got = ::recv(socket_, into, left, MSG_WAITALL);
      if (got <= 0) {
        ended_ = got == 0;
        torn_ = left < sizeof record;
        return std::nullopt;
      }
      into += got;
      left -= static_cast<size_t>(got);
    }
    return record;
  }
  void take(const Record& record) {
    ++received_;
    if (record.connection != id_) {
      ++foreign_;
    } else if (record.number <= came_) {
      ++doubled_;
    } else {
      skipped_ += record.number - came_ - 1;
      came_ = record.number;
      ++in_turn_;
    }
  }
  void set_timeout(Duration patience) const {
    const timeval value{
        .tv_sec = std::chrono::duration_cast<std::chrono::seconds>(patience).count(), .tv_usec = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &value, sizeof value);
    ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &value, sizeof value);
  }

  uint64_t id_;
  uint16_t port_ = 0;
  int socket_ = -1;
  uint64_t sent_ = 0;
  uint64_t came_ = 0;  // the highest number
  uint64_t in_turn_ = 0;
  bool ended_ = false;  // by the peer, in order
  bool torn_ = false;   // within a record
  uint64_t skipped_ = 0;
  uint64_t received_ = 0;
  uint64_t doubled_ = 0;
  uint64_t foreign_ = 0;
};

Traffic::Traffic(LedgerTrafficOptions options) : options_(std::move(options)) {
  int index = 0;
  for (int i = 0; i < options_.short_clients; ++i, ++index)
    threads_.emplace_back([this, index] { run_records(index, 5, 0ms); });
  const auto records = static_cast<uint64_t>(options_.long_life / 100ms);
  for (int i = 0; i < options_.long_clients; ++i, ++index)
    threads_.emplace_back([this, index, records] { run_records(index, records, 100ms); });
  for (int i = 0; i < options_.streams; ++i, ++index)
    threads_.emplace_back([this, index] { run_stream(index); });
  for (int i = 0; i < options_.curls; ++i, ++index)
    threads_.emplace_back([this, index] { run_curl(index); });
}

Traffic::~Traffic() {
  stop();
}

LedgerTotals Traffic::stop() {
  ending_ = true;
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  return totals();
}

LedgerTotals Traffic::totals() const {
  const std::lock_guard lock(mutex_);
  return totals_;
}

LedgerTotals Traffic::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(totals_, {});
}

void Traffic::use(std::vector<uint16_t> ports) {
  const std::lock_guard lock(mutex_);
  options_.ports = std::move(ports);
}

void Traffic::about_to_kill(uint16_t port) {
  const std::lock_guard lock(mutex_);
  killed_.insert(port);
}

uint16_t Traffic::port(uint64_t turn) const {
  const std::lock_guard lock(mutex_);
  return options_.ports[turn % options_.ports.size()];
}

template <typename Change>
void Traffic::note(const Change& change) {
  const std::lock_guard lock(mutex_);
  change(totals_);
}

bool Traffic::open(Client& client, int index) {
  const Time begin = now();
  for (uint64_t turn = static_cast<uint64_t>(index); now() - begin < options_.give_up; ++turn) {
    if (client.open(port(turn + next_connection_), options_.first_record)) {
      const Duration took = now() - begin;
      note([&](LedgerTotals& totals) {
        ++totals.opened;
        totals.longest_open = std::max(totals.longest_open, took);
      });
      return true;
    }
    note([](LedgerTotals& totals) { ++totals.retried; });
    let_pass(20ms);
  }
  note([](LedgerTotals& totals) { ++totals.unreachable; });
  return false;
}

void Traffic::ended(const Client& client, bool whole) {
  note([&](LedgerTotals& totals) {
    whole ? ++totals.finished : ++totals.lost;
    totals.records += client.received();
    totals.bytes_lost += client.missing() * sizeof(Record);
    totals.bytes_silently_lost += client.untold(killed_.contains(client.port())) * sizeof(Record);
    totals.bytes_doubled += client.doubled() * sizeof(Record);
  });
}

void Traffic::run_records(int index, uint64_t records, Duration gap) {
  while (!ending_) {
    Client client(next_connection_++);
    if (!open(client, index)) continue;
    bool whole = true;
    for (uint64_t i = 1; whole && i < records; ++i) {
      if (gap > Duration::zero()) let_pass(gap);
      whole = client.send(1) && client.receive(1);
    }
    ended(client, whole && client.finish());
    let_pass(10ms);
  }
}

void Traffic::run_stream(int index) {
  while (!ending_) {
    Client client(next_connection_++);
    if (!open(client, index)) continue;
    bool whole = true;
    for (uint64_t sent = 1; whole && sent < kStreamRecords;) {
      const uint64_t count = std::min(kAhead, kStreamRecords - sent);
      whole = client.send(count) && client.receive(count);
      sent += count;
    }
    ended(client, whole && client.finish());
    let_pass(100ms);
  }
}

// A request that fails is asked again elsewhere, as a balancer would: lost only if none answers, or
// wrongly.
void Traffic::run_curl(int index) {
  for (uint64_t number = 0; !ending_; ++number) {
    const std::string path = fmt::format("/curl/{}/{}", index, number);
    const Time begin = now();
    bool answered = false;
    for (uint64_t turn = number; !answered && now() - begin < options_.give_up; ++turn) {
      const ProgramOutcome run =
          run_program({.arguments = {"curl", "-s", "--noproxy", "*", "--max-time", "3",
                                     fmt::format("http://127.0.0.1:{}{}", port(turn), path)}});
      answered = run.exit_code == 0 && run.output == path;
      // A wrong answer in order is a lie.
      const size_t wrong = run.exit_code == 0 && !answered ? path.size() : 0;
      note([&](LedgerTotals& totals) {
        if (!answered) ++totals.retried;
        totals.bytes_silently_lost += wrong;
      });
    }
    const Duration took = now() - begin;
    note([&](LedgerTotals& totals) {
      answered ? ++totals.finished : ++totals.unreachable;
      if (answered) ++totals.opened;
      totals.longest_open = std::max(totals.longest_open, took);
    });
    let_pass(50ms);
  }
}

}  // namespace holdfast::test
