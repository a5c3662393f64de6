// Durable puts per second with 1, 16 and 64 writers: our SQLite store in process, our controller
// and etcd (one member, its defaults) over gRPC. Every put is synced to disk before its answer.
//
// Promise: with 64 writers the SQLite store does at least etcd's puts.
#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <thread>

#include "bars.h"
#include "base/check.h"
#include "etcd/etcd.grpc.pb.h"
#include "holdfast/v1/api.grpc.pb.h"
#include "servers.h"
#include "store/sqlite_store.h"
#include "support/temp_dir.h"

namespace holdfast::bench {
namespace {

using Steady = std::chrono::steady_clock;
constexpr auto kDuration = std::chrono::milliseconds(1500);
constexpr int kRounds = 3;
const std::string kValue(200, 'v');

std::string key_of(int writer, uint64_t i) {
  return "/agent/w" + std::to_string(writer) + "-" + std::to_string(i % 1000);
}

double per_second(uint64_t count, Steady::time_point start) {
  return static_cast<double>(count) / std::chrono::duration<double>(Steady::now() - start).count();
}

namespace asio = boost::asio;

asio::awaitable<void> put_until(store::SqliteStore& store, int writer, Steady::time_point end,
                                uint64_t& done) {
  for (uint64_t i = 0; Steady::now() < end; ++i) {
    store::Operation put;
    put.key = key_of(writer, i);
    put.value = kValue;
    std::vector<store::Operation> operations;
    operations.push_back(std::move(put));
    const auto revision = co_await store.commit(std::move(operations));
    HF_CHECK(revision.ok(), revision.status().ToString());
    done += 1;
  }
}

double sqlite_in_process(int writers) {
  const test::TempDir dir;
  asio::io_context loop{1};
  auto store = store::SqliteStore::open(loop.get_executor(), {.path = dir.file("store.db")});
  HF_CHECK(store.ok(), store.status().ToString());
  uint64_t done = 0;
  const auto start = Steady::now();
  for (int writer = 0; writer < writers; ++writer) {
    asio::co_spawn(loop, put_until(**store, writer, start + kDuration, done), asio::detached);
  }
  loop.run();
  return per_second(done, start);
}

// `put` blocks until the answer; each writer has a thread, all share one connection, as one busy
// client process has.
template <typename Put>
double over_grpc(int writers, const Put& put) {
  std::atomic<uint64_t> done = 0;
  const auto start = Steady::now();
  std::vector<std::jthread> threads;
  for (int writer = 0; writer < writers; ++writer) {
    threads.emplace_back([&, writer] {
      for (uint64_t i = 0; Steady::now() < start + kDuration; ++i) {
        put(writer, i);
        done += 1;
      }
    });
  }
  threads.clear();
  return per_second(done, start);
}

double etcd(int writers) {
  const auto server = Server::etcd();
  const auto stub = etcdserverpb::KV::NewStub(server->connect());
  return over_grpc(writers, [&](int writer, uint64_t i) {
    grpc::ClientContext context;
    etcdserverpb::PutRequest request;
    request.set_key(key_of(writer, i));
    request.set_value(kValue);
    etcdserverpb::PutResponse response;
    HF_CHECK(stub->Put(&context, request, &response).ok(), "etcd answers");
  });
}

double controller(int writers) {
  const auto server = Server::holdfast();
  const auto stub = v1::Resources::NewStub(server->connect());
  return over_grpc(writers, [&](int writer, uint64_t i) {
    grpc::ClientContext context;
    v1::WriteRequest request;
    request.mutable_resource()->mutable_metadata()->set_name(key_of(writer, i).substr(7));
    request.mutable_resource()->mutable_metadata()->set_description(kValue);
    request.mutable_resource()->mutable_agent()->set_zone("a");
    v1::Resource response;
    const grpc::Status status = stub->Upsert(&context, request, &response);
    HF_CHECK(status.ok(), status.error_message());
  });
}

int main() {
  std::printf("durable puts/s, medians of %d interleaved rounds of %lld ms\n", kRounds,
              static_cast<long long>(kDuration.count()));
  std::printf("%8s %20s %20s %20s\n", "writers", "sqlite in process", "controller, gRPC",
              "etcd, gRPC");
  double ratio = 0;
  for (const int writers : {1, 16, 64}) {
    std::vector<double> ours, served, theirs;
    for (int round = 0; round < kRounds; ++round) {
      ours.push_back(sqlite_in_process(writers));
      theirs.push_back(etcd(writers));
      served.push_back(controller(writers));
    }
    std::printf("%8d %20.0f %20.0f %20.0f\n", writers, median(ours), median(served),
                median(theirs));
    ratio = median(ours) / median(theirs);
  }
  bar_at_least("store_puts_64_writers_vs_etcd", ratio, 1.0);
  return 0;
}

}  // namespace
}  // namespace holdfast::bench

int main() {
  return holdfast::bench::main();
}
