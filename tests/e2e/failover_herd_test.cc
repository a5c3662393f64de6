// Many clients behind one balancer, half of them on a controller that becomes unhealthy: all of
// them move, not all at the same moment, and none has a call fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <cstdio>
#include <mutex>
#include <thread>

#include "e2e/etcd_pair.h"
#include "holdfast/v1/api.grpc.pb.h"
#include "net/task_group.h"
#include "rpc/pick_healthy_service.h"
#include "support/eventually.h"

namespace holdfast::test {

namespace asio = boost::asio;
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using Resources = v1::Resources::StubInterface::async_interface;

constexpr size_t kClients = 200;

// The clients, on one loop in a thread of its own; each lists once a second.
class Herd {
 public:
  Herd(const std::string& address, const rpc::TlsOptions& tls)
      : tasks_(loop_.get_executor()), thread_([this] { loop_.run(); }) {
    on_loop(begin(address, tls));
  }
  ~Herd() {
    on_loop(end());
    work_.reset();
    thread_.join();
  }
  Herd(const Herd&) = delete;
  Herd& operator=(const Herd&) = delete;

  std::vector<std::string> failures() const {
    const std::lock_guard lock(mutex_);
    return failures_;
  }
  size_t calls() const {
    const std::lock_guard lock(mutex_);
    return calls_;
  }

 private:
  void on_loop(asio::awaitable<void> work) {
    asio::co_spawn(loop_, std::move(work), asio::use_future).get();
  }
  asio::awaitable<void> begin(std::string address, rpc::TlsOptions tls) {
    for (size_t i = 0; i < kClients; ++i) {
      rpc::PickHealthyServiceOptions options;
      options.seed = i + 1;
      links_.push_back(std::make_unique<rpc::PickHealthyService>(
          loop_.get_executor(), clock_, std::vector{address}, rpc::ChannelOptions{.tls = tls},
          options));
      links_.back()->start();
      tasks_.spawn(list_again_and_again(*links_.back(), i * 1000ms / kClients));
    }
    co_return;
  }
  asio::awaitable<void> end() {
    co_await tasks_.join();
    for (const auto& link : links_) co_await link->stop();
    links_.clear();
  }
  asio::awaitable<void> list_again_and_again(rpc::PickHealthyService& link, Duration first) {
    v1::ListRequest request;
    request.set_kind("service");
    co_await net::pause(first);
    for (bool goes_on = true; goes_on; goes_on = co_await net::pause(1s)) {
      const auto found = co_await link.call<v1::Resources>(
          &Resources::List, request, {.timeout = 10s, .repeat = rpc::Repeat::Safe});
      if (absl::IsCancelled(found.status())) co_return;
      const std::lock_guard lock(mutex_);
      ++calls_;
      if (!found.ok()) failures_.push_back(found.status().ToString());
    }
  }

  const SystemClock clock_;
  asio::io_context loop_;
  asio::executor_work_guard<asio::io_context::executor_type> work_ = asio::make_work_guard(loop_);
  std::vector<std::unique_ptr<rpc::PickHealthyService>> links_;
  net::TaskGroup tasks_;
  mutable std::mutex mutex_;
  size_t calls_ = 0;
  std::vector<std::string> failures_;
  std::thread thread_;
};

// When the last so many connections to a backend were left, seen every few milliseconds.
struct Leaving {
  std::vector<steady_clock::time_point> at;  // of each that left
  Duration between(double from, double to) const {
    const auto place = [&](double share) {
      return at[static_cast<size_t>(share * (at.size() - 1))];
    };
    return place(to) - place(from);
  }
};

// Nightly: it measures how the moves spread in time.
TEST(FailoverHerdNightly, HalfOfManyClientsMoveSpreadInTimeAndNoCallFails) {
  Arguments arguments = without_rate_limit();
  arguments.insert(arguments.end(), {"--set", "health.recovery_window=1s"});
  EtcdPair pair({.arguments = arguments});
  const Herd herd(pair.balancer().address(), pair.admin());
  const auto connected = [&] {
    const auto open = pair.balancer().own_connections();
    return open.size() == 2 && open.at("a") + open.at("b") == kClients;
  };
  ASSERT_TRUE(eventually(connected, 30s))
      << testing::PrintToString(pair.balancer().own_connections());
  ASSERT_TRUE(eventually([&] { return herd.calls() > 2 * kClients; }, 20s));
  size_t left = pair.balancer().own_connections()["a"];
  const size_t on_a = left;

  Leaving leaving;
  pair.a().lose_store();
  const auto moved = [&] {
    auto open = pair.balancer().own_connections();
    for (; left > open["a"]; --left) leaving.at.push_back(steady_clock::now());
    return open["a"] == 0 && open["b"] == kClients && open.size() == 2;
  };
  EXPECT_TRUE(eventually(moved, 40s)) << testing::PrintToString(pair.balancer().own_connections());
  const size_t before = herd.calls();
  EXPECT_TRUE(eventually([&] { return herd.calls() > before + kClients; }, 20s));

  std::printf(
      "herd of %zu, %zu of %zu moved, first to last %ld ms, middle half within %ld ms, %zu calls\n",
      kClients, leaving.at.size(), on_a, static_cast<long>(leaving.between(0, 1) / 1ms),
      static_cast<long>(leaving.between(0.25, 0.75) / 1ms), herd.calls());
  EXPECT_GT(leaving.between(0, 1), 300ms);
  EXPECT_THAT(herd.failures(), IsEmpty());
  EXPECT_EQ(pair.balancer().own_connections()["b"], kClients);
}

}  // namespace
}  // namespace holdfast::test
