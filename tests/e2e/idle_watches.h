// Many watches on one connection that nobody reads further than asked: not at all, or only to Init.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "e2e/api_client.h"

namespace holdfast::test {

class IdleWatches {
 public:
  enum class Reads { Nothing, FirstMessage };

  explicit IdleWatches(ApiClient& client);
  // Cancels what is still open and waits for its end.
  ~IdleWatches();
  IdleWatches(const IdleWatches&) = delete;
  IdleWatches& operator=(const IdleWatches&) = delete;

  void open(size_t count, const v1::WatchRequest& request, Reads reads);
  // How many the server has answered: its headers have come.
  size_t answered() const { return answered_; }
  size_t ended() const { return ended_; }
  // Cancels `count` of them, those that are answered first.
  void cancel(size_t count);

 private:
  class Watch;

  ApiClient& client_;
  std::atomic<size_t> answered_ = 0;
  std::atomic<size_t> ended_ = 0;
  std::vector<std::unique_ptr<Watch>> watches_;
};

}  // namespace holdfast::test
