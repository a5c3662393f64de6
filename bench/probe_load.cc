#include "probe_load.h"

#include <boost/asio/io_context.hpp>

#include "delays.h"
#include "net/task_group.h"
#include "probe/prober_service.h"

namespace holdfast::bench {
namespace {

namespace asio = boost::asio;

class Running {
 public:
  explicit Running(const ProbeLoad& load)
      : load_(load), prober_(loop_.get_executor(), {}), tasks_(loop_.get_executor()) {}

  ProbeTimes run() {
    const int64_t start = now_nanoseconds();
    end_ = start + load_.time.count();
    for (int i = 0; i < load_.at_once; ++i) tasks_.spawn(repeat());
    loop_.run();
    const double seconds = static_cast<double>(now_nanoseconds() - start) / 1e9;
    return {.per_second = static_cast<double>(delays_.count()) / seconds,
            .p50_us = delays_.percentile_ms(0.5) * 1e3,
            .p99_us = delays_.percentile_ms(0.99) * 1e3,
            .made = delays_.count(),
            .unhealthy = unhealthy_};
  }

 private:
  asio::awaitable<void> repeat() {
    int64_t now = now_nanoseconds();
    while (started_ < load_.count && now < end_) {
      started_ += 1;
      const probe::Outcome outcome = co_await prober_.run(load_.probe);
      const int64_t ended = now_nanoseconds();
      delays_.record(ended - now);
      unhealthy_ += outcome.healthy ? 0 : 1;
      now = ended;
    }
  }

  ProbeLoad load_;
  asio::io_context loop_{1};
  probe::ProberService prober_;
  net::TaskGroup tasks_;
  DelayHistogram delays_;
  int64_t end_ = 0;
  uint64_t started_ = 0;
  uint64_t unhealthy_ = 0;
};

}  // namespace

ProbeTimes run_load(const ProbeLoad& load) {
  return Running(load).run();
}

}  // namespace holdfast::bench
