#include "node/load_report_service.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <utility>

#include "holdfast/v1/load.grpc.pb.h"
#include "node/load_codec.h"

namespace holdfast::node {
namespace {

using Methods = v1::Load::StubInterface::async_interface;

// Less than half of a lease, so that one report that is lost costs none.
constexpr Duration kTimeout = std::chrono::seconds(2);
// A source that is always due is asked no more often than that, and looked at that often.
constexpr Duration kShortest = std::chrono::milliseconds(20);
constexpr Duration kLongest = std::chrono::seconds(1);

}  // namespace

LoadReportService::LoadReportService(const asio::any_io_executor& loop, const Clock& clock,
                                     rpc::PickHealthyService& pick, LoadSource source)
    : clock_(clock), pick_(pick), source_(std::move(source)), timer_(loop), tasks_(loop) {}

void LoadReportService::start() {
  tasks_.spawn(run());
}

asio::awaitable<void> LoadReportService::stop() {
  stopping_ = true;
  timer_.cancel();
  co_await tasks_.join();
}

asio::awaitable<void> LoadReportService::run() {
  while (!stopping_) {
    const Time now = clock_.now();
    const Time due = source_.due();
    if (due <= now) {
      co_await send();
      const bool slept = co_await net::pause(kShortest);
      if (!slept) co_return;
      continue;
    }
    timer_.expires_after(std::min(due - now, kLongest));
    co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable));
  }
}

asio::awaitable<void> LoadReportService::send() {
  const Result<v1::LoadGrant> grant =
      co_await pick_.call<v1::Load>(&Methods::Report, to_proto(source_.report()),
                                    {.timeout = kTimeout, .repeat = rpc::Repeat::Never});
  stats_.last = grant.status();
  if (grant.ok()) {
    stats_.answered += 1;
    source_.on_grant(from_proto(*grant));
  } else {
    stats_.failed += 1;
    source_.on_failed();
  }
}

}  // namespace holdfast::node
