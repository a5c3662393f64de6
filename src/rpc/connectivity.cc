#include "rpc/connectivity.h"

#include <grpcpp/completion_queue.h>

#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

#include "rpc/handoff.h"

namespace holdfast::rpc {
namespace {

constexpr std::chrono::milliseconds kSlice(250);

// One channel that is watched. gRPC cannot be told to stop watching and keeps the channel as long
// as it does, so it watches for a slice of time, again and again.
struct Watched {
  std::weak_ptr<grpc::Channel> channel;
  Handoff<bool>::Sender sender;
};

// gRPC reports changes of state to a queue alone, and a queue needs a thread. One for the process,
// never ended, as gRPC's own are not (see make_channel): a thread for each service would have to be
// waited for, a slice long, whenever one ends.
class Watcher {
 public:
  static Watcher& kept() {
    static Watcher* const watcher = new Watcher;
    return *watcher;
  }

  void watch(std::unique_ptr<Watched> watched) {
    const std::lock_guard lock(mutex_);
    watch_on(std::move(watched));
  }

 private:
  Watcher() {
    std::thread([this] { run(); }).detach();
  }

  void run() {
    void* tag = nullptr;
    bool changed = false;
    while (queue_.Next(&tag, &changed)) {
      const std::lock_guard lock(mutex_);
      std::unique_ptr<Watched> watched(static_cast<Watched*>(tag));
      if (changed) {
        watched->sender.deliver(true);
      } else {
        watch_on(std::move(watched));
      }
    }
  }

  // The queue owns it until its slice is over. Of a channel that is gone nothing more is said.
  void watch_on(std::unique_ptr<Watched> watched) {
    const auto channel = watched->channel.lock();
    if (channel == nullptr) return;
    channel->NotifyOnStateChange(GRPC_CHANNEL_READY, std::chrono::system_clock::now() + kSlice,
                                 &queue_, watched.release());
  }

  std::mutex mutex_;  // what is handed to the queue is handed over whole
  grpc::CompletionQueue queue_;
};

}  // namespace

asio::awaitable<bool> until_lost(
    std::shared_ptr<grpc::Channel> channel) {  // tidy: shared, gRPC's own handle
  Handoff<bool> lost(co_await asio::this_coro::executor);
  Watcher::kept().watch(std::make_unique<Watched>(Watched{channel, lost.sender()}));
  channel.reset();
  co_return (co_await lost.take()).has_value();
}

}  // namespace holdfast::rpc
