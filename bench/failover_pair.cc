#include "failover_pair.h"

#include <fmt/format.h>

#include <atomic>
#include <thread>

#include "base/check.h"
#include "rpc/call.h"

namespace holdfast::bench {
namespace {

using namespace std::chrono_literals;
using Steady = std::chrono::steady_clock;

v1::WriteRequest put(const std::string& name, uint64_t number) {
  v1::WriteRequest request;
  v1::Resource& resource = *request.mutable_resource();
  resource.set_kind("agent");
  resource.mutable_metadata()->set_name(name);
  resource.mutable_metadata()->set_description(fmt::format("{:0200}", number));
  resource.mutable_agent()->set_zone("a");
  return request;
}

}  // namespace

FailoverPair::FailoverPair()
    : door_({.addresses = world_.addresses(), .tls = world_.admin()}),
      writer_([this] { return write(); }) {
  settle();
}

Status FailoverPair::write() {
  const uint64_t number = written_++;
  v1::WriteRequest request = put(fmt::format("w-{}", number % 100), number);
  request.set_request_id(fmt::format("bench-{:016}", number));
  return door_.write(test::PairDoor::Write::Upsert, request).status;
}

void FailoverPair::settle() {
  world_.mend();
  HF_CHECK(world_.becomes_whole(), "the pair is whole again: " + world_.describe());
  // Longer than a second: a connection that lived for less counts as a dial that failed.
  writer_.expect_steady(300);
}

Gaps FailoverPair::kill_active(int rounds) {
  Gaps gaps;
  for (int round = 0; round < rounds; ++round) {
    test::PairMember& active = world_.active();
    gaps.add(writer_.time_without([&] { active.kill(); }));
    settle();
  }
  return gaps;
}

Gaps FailoverPair::freeze_active(int rounds) {
  Gaps gaps;
  for (int round = 0; round < rounds; ++round) {
    test::PairMember& active = world_.active();
    gaps.add(writer_.time_without([&] { active.freeze(); }));
    settle();
  }
  return gaps;
}

Gaps FailoverPair::isolate_active(int rounds) {
  Gaps gaps;
  for (int round = 0; round < rounds; ++round) {
    test::PairMember& active = world_.active();
    gaps.add(writer_.time_without([&] { world_.network().isolate(active.name()); }));
    settle();
  }
  return gaps;
}

void FailoverPair::switch_over_at(test::PairMember& active) {
  const Result<v1::SwitchOverResponse> switched = active.switch_over();
  HF_CHECK(switched.ok(), switched.status().ToString());
}

FailoverPair::Switchovers FailoverPair::switch_over(int rounds) {
  Switchovers result;
  const size_t failed = writer_.failures();
  for (int round = 0; round < rounds; ++round) {
    test::PairMember& active = world_.active();
    result.gaps.add(writer_.longest_between([&] { switch_over_at(active); }));
    settle();
  }
  result.failed_calls = writer_.failures() - failed;
  return result;
}

double writes_per_second(const std::string& mode, int writers, Duration duration) {
  test::PairWorld world({.mode = mode});
  const auto channel = rpc::make_channel(world.active().address(), {.tls = world.admin()});
  const auto stub = v1::Resources::NewStub(channel);
  std::atomic<uint64_t> done = 0;
  const auto start = Steady::now();
  std::vector<std::jthread> threads;
  for (int writer = 0; writer < writers; ++writer) {
    threads.emplace_back([&, writer] {
      for (uint64_t i = 0; Steady::now() < start + duration; ++i) {
        grpc::ClientContext context;
        v1::Resource written;
        const grpc::Status status =
            stub->Upsert(&context, put(fmt::format("w{}-{}", writer, i % 1000), i), &written);
        HF_CHECK(status.ok(), status.error_message());
        done += 1;
      }
    });
  }
  threads.clear();
  return static_cast<double>(done) / std::chrono::duration<double>(Steady::now() - start).count();
}

}  // namespace holdfast::bench
