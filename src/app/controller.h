// The controller: a store, the events of its changes, and the API in front of them. Wiring only;
// members stand in the order they are built and go in the reverse.
#pragma once

#include <boost/asio/io_context.hpp>

#include <memory>
#include <string>
#include <vector>

#include "api/feed_service.h"
#include "api/grpc_server.h"
#include "api/resource_service.h"
#include "api/watch_streams.h"
#include "base/clock.h"
#include "base/result.h"
#include "events/fan_out.h"
#include "net/task_group.h"
#include "store/etcd_options.h"
#include "store/file_lock.h"
#include "store/store.h"

namespace holdfast::app {

namespace asio = boost::asio;

enum class StoreType { Sqlite, Memory, Etcd };

struct ControllerOptions {
  StoreType store = StoreType::Sqlite;
  std::string data_dir;
  store::EtcdOptions etcd;
  std::vector<std::string> listen;  // besides the unix socket in data_dir
  events::FanOutOptions fan_out;
  api::WatchStreamsOptions watches;
  api::ResourceLimits resource_limits;
  Duration expiry_period = std::chrono::seconds(1);
};

class Controller {
 public:
  // Opens the store and listens. Blocks while it does.
  static Result<std::unique_ptr<Controller>> start(asio::io_context& loop, const Clock& clock,
                                                   ControllerOptions options);

  // The addresses clients may use.
  const std::vector<std::string>& addresses() const { return addresses_; }
  // Why it stopped by itself; OK if it did not.
  const Status& failure() const { return failure_; }
  // Finishes what runs, then returns; the loop runs dry after it.
  asio::awaitable<void> stop();

 private:
  Controller(asio::io_context& loop, const Clock& clock, ControllerOptions options,
             store::FileLock lock, std::unique_ptr<store::Store> store);
  Status listen();
  asio::awaitable<void> expire_items();

  asio::any_io_executor loop_;
  Status failure_;
  const Clock& clock_;
  ControllerOptions options_;
  store::FileLock lock_;
  std::unique_ptr<store::Store> store_;
  events::FanOut fan_out_;
  api::ResourceService resources_;
  api::WatchStreams watches_;
  api::FeedService feed_;
  std::vector<std::string> addresses_;
  std::unique_ptr<api::GrpcServer> server_;
  net::TaskGroup tasks_;
};

}  // namespace holdfast::app
