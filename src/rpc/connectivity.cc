#include "rpc/connectivity.h"

#include <grpcpp/completion_queue.h>

#include <chrono>
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

  // Returns false if the channel is gone.
  bool watch_on(Watched* watched) {
    const auto channel = watched->channel.lock();
    if (channel == nullptr) return false;
    channel->NotifyOnStateChange(GRPC_CHANNEL_READY, std::chrono::system_clock::now() + kSlice,
                                 &queue_, watched);
    return true;
  }

 private:
  Watcher() {
    std::thread([this] { run(); }).detach();
  }

  void run() {
    void* tag = nullptr;
    bool changed = false;
    while (queue_.Next(&tag, &changed)) {
      std::unique_ptr<Watched> watched(static_cast<Watched*>(tag));
      if (changed) {
        watched->sender.deliver(true);
      } else if (watch_on(watched.get())) {
        static_cast<void>(watched.release());
      }
    }
  }

  grpc::CompletionQueue queue_;
};

}  // namespace

asio::awaitable<bool> until_lost(
    std::shared_ptr<grpc::Channel> channel) {  // tidy: shared, gRPC's own handle
  Handoff<bool> lost(co_await asio::this_coro::executor);
  auto watched = std::make_unique<Watched>(Watched{channel, lost.sender()});
  if (Watcher::kept().watch_on(watched.get())) static_cast<void>(watched.release());
  channel.reset();
  co_return (co_await lost.take()).has_value();
}

}  // namespace holdfast::rpc
