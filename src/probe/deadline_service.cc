#include "probe/deadline_service.h"

#include <boost/asio/steady_timer.hpp>

#include <optional>
#include <set>
#include <utility>

namespace holdfast::probe {

struct Deadlines::State : std::enable_shared_from_this<Deadlines::State> {
  explicit State(const asio::any_io_executor& loop) : timer(loop) {}

  // Armed for the first deadline or an earlier time: an entry that goes disarms it only if it was
  // the last, so that nothing keeps the loop from ending.
  void arm() {
    if (waiting.empty() || (armed && *armed <= waiting.begin()->first)) return;
    armed = waiting.begin()->first;
    timer.expires_at(*armed);
    timer.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
      const auto state = weak.lock();
      if (!error && state != nullptr) state->on_timer();
    });
  }
  void disarm() {
    if (!waiting.empty() || !armed) return;
    armed.reset();
    timer.cancel();
  }
  void on_timer() {
    armed.reset();
    const SteadyTime now = std::chrono::steady_clock::now();
    while (!waiting.empty() && waiting.begin()->first <= now) {
      Expiring* const due = waiting.begin()->second;
      waiting.erase(waiting.begin());
      due->expire();
    }
    arm();
  }

  asio::steady_timer timer;
  std::set<std::pair<SteadyTime, Expiring*>> waiting{};
  std::optional<SteadyTime> armed{};
};

Deadlines::Deadlines(const asio::any_io_executor& loop) : state_(std::make_shared<State>(loop)) {}

Deadlines::~Deadlines() = default;

void Deadlines::add(SteadyTime deadline, Expiring& expiring) {
  state_->waiting.emplace(deadline, &expiring);
  state_->arm();
}

void Deadlines::remove(SteadyTime deadline, Expiring& expiring) {
  state_->waiting.erase({deadline, &expiring});
  state_->disarm();
}

}  // namespace holdfast::probe
