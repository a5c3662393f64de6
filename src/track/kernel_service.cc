#include "track/kernel_service.h"

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <utility>

namespace holdfast::track {
namespace {

// Runs `work` on `pool` and resumes the caller on its own executor with the answer.
template <typename T, typename Work>
asio::awaitable<T> run_on(asio::thread_pool& pool, Work work) {
  co_return co_await asio::async_initiate<decltype(asio::use_awaitable), void(T)>(
      [&pool](auto handler, Work body) {
        auto executor = asio::get_associated_executor(handler);
        asio::post(pool, [handler = std::move(handler), body = std::move(body),
                          guard = asio::make_work_guard(executor)]() mutable {
          T answer = body();
          asio::post(guard.get_executor(),
                     [handler = std::move(handler), answer = std::move(answer)]() mutable {
                       std::move(handler)(std::move(answer));
                     });
        });
      },
      asio::use_awaitable, std::move(work));
}

Result<Reading> read_all(const Pins& pins, const std::vector<uint32_t>& backends) {
  TRY_OK(pins.still_there());
  Reading reading{.attached = pins.attached()};
  TRY(reading.counters, pins.counters());
  TRY(reading.stats, pins.stats());
  for (const uint32_t backend : backends) {
    TRY(const hf_health health, pins.health(backend));
    if (health.refusals > 0) reading.health[backend] = health;
  }
  return reading;
}

}  // namespace

asio::awaitable<Result<KernelService::Opened>> KernelService::open(hf_settings settings) {
  using Answer = Result<Opened>;
  co_return co_await run_on<Answer>(worker_, [this, settings]() -> Answer {
    pins_.reset();
    Result<std::unique_ptr<Pins>> pins = Pins::open(directory_);
    // Of a folder without pins nothing is kept: it can be unmounted.
    if (!pins.ok()) claim_.give_back();
    TRY_OK(pins.status());
    TRY_OK(claim_.take(directory_));
    pins_ = *std::move(pins);
    TRY_OK(pins_->still_there());
    TRY_OK(pins_->change_settings(settings));
    Opened opened{.maps_id = pins_->maps_id(), .sizes = pins_->sizes()};
    TRY(opened.present, pins_->read());
    return opened;
  });
}

asio::awaitable<Status> KernelService::change_settings(hf_settings settings) {
  co_return co_await run_on<Status>(worker_,
                                    [this, settings] { return pins_->change_settings(settings); });
}

asio::awaitable<Result<Reading>> KernelService::read(std::vector<uint32_t> backends) {
  co_return co_await run_on<Result<Reading>>(
      worker_, [this, backends = std::move(backends)] { return read_all(*pins_, backends); });
}

asio::awaitable<Status> KernelService::apply(std::vector<MapWrite> writes) {
  co_return co_await run_on<Status>(
      worker_, [this, writes = std::move(writes)] { return pins_->apply(writes); });
}

asio::awaitable<Result<Pins::Audited>> KernelService::audit() {
  co_return co_await run_on<Result<Pins::Audited>>(worker_, [this] { return pins_->audit(); });
}

}  // namespace holdfast::track
