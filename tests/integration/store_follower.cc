// Follows a store in memory with a SQLite store, by whole copies and by entries, until it is
// killed: the victim of the crash and disk tests.  store_follower PATH EPOCH
//
//   ack EPOCH REVISION     everything up to here was acknowledged
//   page                   a page of a copy was taken in
//   copied                 what was acknowledged last was a whole copy
//   error CODE             an append or a copy failed; the follower goes on
//   broken WHAT            what failed has changed something all the same
#include <sys/prctl.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/check.h"
#include "integration/store_followed.h"
#include "store/sqlite_store.h"

namespace holdfast::test {
namespace {

namespace asio = boost::asio;
constexpr int kAppendsPerCopy = 40;
constexpr size_t kPageBytes = 8'000;

// One write(2) per line, so that a line is never lost in a buffer when the process is killed.
void say(const std::string& line) {
  const std::string whole = line + "\n";
  if (::write(STDOUT_FILENO, whole.data(), whole.size()) < 0) std::abort();
}

void acknowledge(const store::Head& head) {
  say("ack " + std::to_string(head.epoch) + " " + std::to_string(head.revision));
}

class Follower {
 public:
  Follower(store::MemoryStore& active, store::SqliteStore& victim, store::Epoch epoch)
      : active_(active), victim_(victim), epoch_(epoch) {}

  asio::awaitable<void> follow() {
    HF_CHECK((co_await begin_followed(active_, epoch_)).ok(), "memory does not fail");
    for (;;) {
      const store::ReplicaFacts before = victim_.facts();
      const Status copied = co_await copy();
      if (!copied.ok()) {
        co_await failed(copied, before);
        continue;
      }
      acknowledge(victim_.facts().head);
      say("copied");
      for (int i = 0; i < kAppendsPerCopy; ++i) co_await append();
    }
  }

 private:
  asio::awaitable<Status> copy() {
    CO_TRY(store::ReplicaFacts of, co_await active_.begin_reading());
    CO_TRY_OK(co_await victim_.begin_copy(std::move(of)));
    for (bool last = false; !last;) {
      CO_TRY(store::CopyPage page, co_await active_.read_page(kPageBytes));
      last = page.last;
      CO_TRY_OK(co_await victim_.add_to_copy(std::move(page)));
      say("page");
    }
    co_return (co_await victim_.finish_copy(epoch_)).status();
  }

  asio::awaitable<void> append() {
    for (int i = 0; i < 3; ++i) {
      HF_CHECK((co_await advance_followed(active_)).ok(), "memory does not fail");
    }
    for (;;) {
      const store::ReplicaFacts before = victim_.facts();
      auto entries = co_await active_.entries(before.head.revision, 1 << 20);
      HF_CHECK(entries.ok(), entries.status().ToString());
      const auto head = co_await victim_.append(epoch_, *std::move(entries));
      if (head.ok()) {
        acknowledge(*head);
        co_return;
      }
      co_await failed(head.status(), before);
    }
  }

  asio::awaitable<void> failed(Status why, store::ReplicaFacts before) {
    say("error " + absl::StatusCodeToString(why.code()));
    if (victim_.facts() != before) say("broken facts");
    const auto now = co_await victim_.range({.range = {}, .limit = 1});
    if (now.ok() && now->revision != before.head.revision) say("broken revision");
    asio::steady_timer timer(co_await asio::this_coro::executor, std::chrono::milliseconds(5));
    co_await timer.async_wait(asio::use_awaitable);
  }

  store::MemoryStore& active_;
  store::SqliteStore& victim_;
  store::Epoch epoch_;
};

int main(int argc, char** argv) {
  if (argc != 3) return 64;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // dies with the test, or with the strace around it
  asio::io_context loop{1};
  auto victim = store::SqliteStore::open(loop.get_executor(), {.path = argv[1]});
  if (!victim.ok()) {
    std::fprintf(stderr, "%s\n", victim.status().ToString().c_str());
    return 1;
  }
  store::MemoryStore active(loop.get_executor(), {});
  Follower follower(active, **victim, std::strtoull(argv[2], nullptr, 10));
  asio::co_spawn(loop, follower.follow(), asio::detached);
  loop.run();
  return 0;
}

}  // namespace
}  // namespace holdfast::test

int main(int argc, char** argv) {
  return holdfast::test::main(argc, argv);
}
