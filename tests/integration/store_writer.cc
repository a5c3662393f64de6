// Writes to a SQLite store until it is killed, one line per answer: the victim of the crash and
// disk tests.  store_writer PATH WRITERS ROUND
//
//   ack KEY        the write of KEY was acknowledged
//   error CODE     a write was refused; the writer goes on
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

#include "store/sqlite_store.h"

namespace holdfast::store {
namespace {

// One write(2) per line, so that a line is never lost in a buffer when the process is killed.
void say(const std::string& line) {
  const std::string whole = line + "\n";
  if (::write(STDOUT_FILENO, whole.data(), whole.size()) < 0) std::abort();
}

asio::awaitable<void> write_for_ever(SqliteStore& store, std::string prefix) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  for (int i = 0;; ++i) {
    Operation operation;
    operation.key = prefix + std::to_string(i);
    operation.value = operation.key + std::string(200, '.');
    const std::string key = operation.key;
    std::vector<Operation> operations;
    operations.push_back(std::move(operation));
    const Result<Revision> revision = co_await store.commit(std::move(operations));
    if (revision.ok()) {
      say("ack " + key);
      continue;
    }
    say("error " + absl::StatusCodeToString(revision.status().code()));
    timer.expires_after(std::chrono::milliseconds(5));
    co_await timer.async_wait(asio::use_awaitable);
  }
}

int main(int argc, char** argv) {
  if (argc != 4) return 64;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // dies with the test, or with the strace around it
  asio::io_context loop{1};
  auto store = SqliteStore::open(loop.get_executor(), {.path = argv[1]});
  if (!store.ok()) {
    std::fprintf(stderr, "%s\n", store.status().ToString().c_str());
    return 1;
  }
  for (int writer = 0; writer < std::atoi(argv[2]); ++writer) {
    const std::string prefix = "/" + std::string(argv[3]) + "/" + std::to_string(writer) + "/";
    asio::co_spawn(loop, write_for_ever(**store, prefix), asio::detached);
  }
  loop.run();
  return 0;
}

}  // namespace
}  // namespace holdfast::store

int main(int argc, char** argv) {
  return holdfast::store::main(argc, argv);
}
