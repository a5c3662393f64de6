// A watch on etcd. It has no coroutine of its own: next() opens the stream, follows it, and moves
// to another member when it breaks, so a watch nobody reads costs a stream and no memory here.
//
// Others write to the same etcd. It tells an idle watch how far it has come every ten minutes, or
// as often as its option --experimental-watch-progress-notify-interval says, and the watch resumes
// from there: what is compacted meanwhile was none of ours. The watch does not ask by itself
// (WatchProgressRequest), because older etcds, Debian 12's 3.4.23 among them, may answer with a
// revision whose changes they have yet to send (etcd's issue 15220).
#pragma once

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>

#include <memory>
#include <vector>

#include "base/backoff.h"
#include "store/etcd_changes.h"
#include "store/etcd_client.h"
#include "store/etcd_keys.h"
#include "store/store.h"

namespace holdfast::store {

// Whether `after` can be watched from: kOutOfRange if it is compacted or of the future.
asio::awaitable<Result<Revision>> check_watchable(EtcdClient& client, const EtcdKeys& keys,
                                                  Revision after);

class EtcdWatch final : public Watch {
 public:
  // The client outlives the watch.
  EtcdWatch(const asio::any_io_executor& executor, EtcdClient& client, const EtcdKeys& keys,
            KeyRange range, Revision after);

  asio::awaitable<Result<std::vector<Change>>> next() override;
  Revision reached() const override { return changes_.seen(); }
  void close() override;

 private:
  asio::awaitable<Result<std::vector<Change>>> read_changes();
  asio::awaitable<Status> connect();
  asio::awaitable<void> disconnect();
  asio::awaitable<void> pause();

  asio::any_io_executor executor_;
  EtcdClient& client_;
  EtcdKeys keys_;
  KeyRange range_;
  EtcdChanges changes_;
  Backoff backoff_;
  asio::steady_timer pause_;
  asio::cancellation_signal stop_connecting_;
  std::unique_ptr<EtcdWatchStream> stream_;
  size_t member_ = 0;  // the one the stream goes to
  bool closed_ = false;
};

// The request that starts a watch of `range` (as etcd wants it) after a revision.
etcdserverpb::WatchRequest watch_request(const KeyRange& range, Revision after);

}  // namespace holdfast::store
