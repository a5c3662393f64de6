#include "e2e/failover_traffic.h"

#include <fmt/format.h>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>

#include <algorithm>

#include "base/check.h"
#include "holdfast/v1/node.grpc.pb.h"
#include "support/eventually.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using rpc::Repeat;
using Resources = v1::Resources::StubInterface::async_interface;
using StatusMethods = v1::Status::StubInterface::async_interface;

using WriteMethod = void (Resources::*)(grpc::ClientContext*, const v1::WriteRequest*,
                                        v1::Resource*, std::function<void(grpc::Status)>);

constexpr const char* kAlwaysThere = "always-there";

}  // namespace

FailoverTraffic::FailoverTraffic(TrafficOptions options)
    : options_(std::move(options)),
      work_(asio::make_work_guard(loop_)),
      link_(loop_.get_executor(), clock_, options_.addresses, {.tls = options_.tls}, options_.link),
      tasks_(loop_.get_executor()),
      thread_([this] { loop_.run(); }) {
  on_loop([](rpc::PickHealthyService& link) -> asio::awaitable<bool> {
    link.start();
    co_return true;
  }(link_));
}

FailoverTraffic::~FailoverTraffic() {
  stop();
  on_loop([](FailoverTraffic& self) -> asio::awaitable<bool> {
    co_await self.tasks_.join();
    co_await self.link_.stop();
    co_return true;
  }(*this));
  work_.reset();
  thread_.join();
}

template <typename T>
T FailoverTraffic::on_loop(asio::awaitable<T> work) {
  return asio::co_spawn(loop_, std::move(work), asio::use_future).get();
}

void FailoverTraffic::start() {
  running_ = true;
  on_loop([](FailoverTraffic& self) -> asio::awaitable<bool> {
    const Result<v1::Resource> written = co_await self.write(kAlwaysThere, "");
    HF_CHECK(written.ok(), written.status().ToString());
    self.workers_ = self.options_.readers + self.options_.writers;
    for (size_t i = 0; i < self.options_.readers; ++i) {
      self.tasks_.spawn(self.read_again_and_again());
    }
    for (size_t i = 0; i < self.options_.writers; ++i) {
      self.tasks_.spawn(self.write_again_and_again());
    }
    co_return true;
  }(*this));
  forget_gaps();
}

void FailoverTraffic::stop() {
  running_ = false;
  const Duration patience = options_.deadline + 5s;
  HF_CHECK(eventually([&] { return workers_ == 0; }, patience), "every call ends by its deadline");
}

void FailoverTraffic::forget_gaps() {
  const std::lock_guard lock(mutex_);
  last_read_ = last_write_ = clock_.now();
  report_.reads.longest_gap = report_.writes.longest_gap = Duration::zero();
}

bool FailoverTraffic::goes_on(size_t reads, size_t writes, Duration patience) {
  const TrafficReport before = report();
  const auto done = [&] {
    const std::lock_guard lock(mutex_);
    return report_.reads.succeeded >= before.reads.succeeded + reads &&
           report_.writes.succeeded >= before.writes.succeeded + writes;
  };
  return eventually(done, patience);
}

TrafficReport FailoverTraffic::report() const {
  const std::lock_guard lock(mutex_);
  return report_;
}

rpc::Pinned FailoverTraffic::pin() {
  const Result<rpc::Pinned> picked = on_loop(link_.wait_picked(10s));
  return picked.ok() ? *picked : nullptr;
}

rpc::PickHealthyStats FailoverTraffic::stats() {
  return on_loop([](rpc::PickHealthyService& link) -> asio::awaitable<rpc::PickHealthyStats> {
    co_return link.stats();
  }(link_));
}

Result<std::string> FailoverTraffic::controller_in_use(Duration timeout) {
  return on_loop([](FailoverTraffic& self, Duration limit) -> asio::awaitable<Result<std::string>> {
    CO_TRY(const v1::GetStatusResponse status,
           co_await self.link_.call<v1::Status>(&StatusMethods::GetStatus, v1::GetStatusRequest(),
                                                {.timeout = limit, .repeat = Repeat::Safe}));
    co_return status.controller();
  }(*this, timeout));
}

asio::awaitable<void> FailoverTraffic::read_again_and_again() {
  while (running_) {
    v1::GetRequest request;
    request.set_kind("service");
    request.set_name(kAlwaysThere);
    const Result<v1::Resource> found = co_await link_.call<v1::Resources>(
        &Resources::Get, request, {.timeout = options_.deadline, .repeat = Repeat::Safe});
    record(report_.reads, last_read_, found.status());
    co_await net::pause(options_.read_pause);
  }
  --workers_;
}

asio::awaitable<void> FailoverTraffic::write_again_and_again() {
  while (running_) {
    const std::string name = fmt::format("{}-{}", options_.name, next_name_++);
    const Result<v1::Resource> written = co_await write(name, name + "-0123456789abcdef");
    record(report_.writes, last_write_, written.status());
    if (written.ok()) {
      const std::lock_guard lock(mutex_);
      report_.acknowledged.push_back(name);
    }
    co_await net::pause(options_.write_pause);
  }
  --workers_;
}

// Of those with a request id every other one creates: carried out twice, it would fail. The others
// would be seen twice.
asio::awaitable<Result<v1::Resource>> FailoverTraffic::write(std::string name,
                                                             std::string request_id) {
  v1::WriteRequest request;
  *request.mutable_resource() = service(name);
  request.set_request_id(request_id);
  const bool creates = !request_id.empty() && next_name_ % 2 == 0;
  co_return co_await link_.call<v1::Resources>(
      creates ? static_cast<WriteMethod>(&Resources::Create)
              : static_cast<WriteMethod>(&Resources::Upsert),
      request, {.timeout = options_.deadline, .repeat = Repeat::Safe});
}

void FailoverTraffic::record(CallLedger& ledger, Time& last, const Status& status) {
  const Time now = clock_.now();
  const std::lock_guard lock(mutex_);
  if (!status.ok()) {
    ledger.failures.push_back(status.ToString());
    return;
  }
  ++ledger.succeeded;
  ledger.longest_gap = std::max(ledger.longest_gap, now - last);
  last = now;
}

PinnedWatch::PinnedWatch(rpc::Pinned connection, int64_t after_revision)
    : connection_(std::move(connection)),
      client_(std::make_unique<ApiClient>(connection_->channel)),
      reader_(std::make_unique<WatchReader>(*client_, watch_request({"service"}, after_revision))) {
}

int64_t PinnedWatch::revision() const {
  const std::vector<SeenEvent> seen = reader_->events();
  return seen.empty() ? 0 : seen.back().revision;
}

void PinnedWatch::close() {
  reader_.reset();
  client_.reset();
  connection_.reset();
}

}  // namespace holdfast::test
