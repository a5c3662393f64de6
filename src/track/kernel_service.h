// The pins on a thread of their own: each call of the kernel is short, but a map of thousands of
// keys, or an audit of all sockets, is longer than a loop may stand still.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "track/pins_claim.h"
#include "track/pins_service.h"

namespace holdfast::track {

namespace asio = boost::asio;

// What is read each second.
struct Reading {
  Status attached{};  // as Pins::attached()
  std::vector<CounterSample> counters{};
  hf_stats stats{};
  std::map<uint32_t, hf_health> health{};  // of backends that refused lately
};

// Belongs to one executor; one call at a time. A call goes on to its end, also if its caller is
// cancelled.
class KernelService {
 public:
  explicit KernelService(std::string directory) : directory_(std::move(directory)) {}

  struct Opened {
    uint32_t maps_id = 0;
    Sizes sizes{};
    Snapshot present{};
  };
  // As Pins::open(), and HF8114: another agent has them. Everything else requires that it succeeded
  // last.
  asio::awaitable<Result<Opened>> open(hf_settings settings);
  asio::awaitable<Status> change_settings(hf_settings settings);
  // Fails as Pins::still_there() too.
  asio::awaitable<Result<Reading>> read(std::vector<uint32_t> backends);
  asio::awaitable<Status> apply(std::vector<MapWrite> writes);
  asio::awaitable<Result<Pins::Audited>> audit();

 private:
  const std::string directory_;
  std::unique_ptr<Pins> pins_;  // only touched by the worker
  PinsClaim claim_;             // likewise; held while there are pins
  asio::thread_pool worker_{1};
};

}  // namespace holdfast::track
