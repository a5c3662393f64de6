// Follows everything under a prefix of the store: first all of it, then each change. If its place
// in the history is lost it starts again with all of it: whoever listens misses nothing.
#pragma once

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/backoff.h"
#include "store/store.h"

namespace holdfast::api {

namespace asio = boost::asio;

// Called on the loop; must not wait.
struct FollowHandlers {
  // All there is: replaces whatever was known. Changes after `revision` follow.
  std::function<void(std::vector<store::Item>, store::Revision revision)> on_reset;
  std::function<void(const store::Change&)> on_change;
  // The place was lost; on_reset comes when it is found again. May be empty.
  std::function<void(const Status&)> on_lost = {};
};

struct FollowOptions {
  size_t page_items = 1'000;
  BackoffOptions backoff{.first = std::chrono::milliseconds(100), .cap = std::chrono::seconds(5)};
};

class FollowService {
 public:
  FollowService(store::Store& store, std::string prefix, FollowHandlers handlers,
                FollowOptions options = {})
      : store_(store),
        prefix_(std::move(prefix)),
        handlers_(std::move(handlers)),
        options_(options) {}

  // Until cancelled or stopped.
  asio::awaitable<void> run();
  // Ends run() by closing what it waits for.
  void stop();
  // Whether on_reset was called and nothing was lost since.
  bool in_step() const { return in_step_; }

 private:
  asio::awaitable<Status> follow();
  asio::awaitable<Status> read_all();
  bool is_news(const store::Change& change) const;

  store::Store& store_;
  std::string prefix_;
  FollowHandlers handlers_;
  FollowOptions options_;
  std::unique_ptr<store::Watch> watch_;
  // Pages are read one after the other; what was written meanwhile is in them and in the watch.
  std::map<std::string, store::Revision> written_while_reading_;
  store::Revision read_from_ = 0;
  store::Revision read_through_ = 0;
  bool in_step_ = false;
  bool stopped_ = false;
};

}  // namespace holdfast::api
