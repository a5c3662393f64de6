// Who is there: takes announcements and goodbyes, writes them in batches, and marks as offline who
// has fallen silent. Knows no transport and admits everybody: whoever calls has asked the gate.
//
//   announce ──► WriteBatches ──► one commit ──► answer
//       │                            │
//       ▼ heard                      ▼ follow: also what other controllers wrote
//   health::PresenceTable ◄──────────┘
//       │ overdue
//       └──► offline_since, one commit, if nothing else was written meanwhile
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <functional>
#include <list>
#include <optional>
#include <unordered_map>
#include <vector>

#include "api/follow_service.h"
#include "api/presence_entry.h"
#include "api/write_batches.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/rng.h"
#include "health/announce.h"
#include "health/presence_table.h"
#include "holdfast/v1/node.pb.h"
#include "net/task_group.h"
#include "store/store.h"

namespace holdfast::api {

namespace asio = boost::asio;

struct PresenceOptions {
  health::TtlOptions controller_ttl{.ttl = std::chrono::seconds(5),
                                    .max_ttl = std::chrono::seconds(5)};
  health::TtlOptions proxy_ttl{.ttl = std::chrono::seconds(30),
                               .max_ttl = std::chrono::seconds(30)};
  health::TtlOptions agent_ttl{.ttl = std::chrono::seconds(60),
                               .max_ttl = std::chrono::seconds(360)};
  // How long an entry stays visible after its node fell silent.
  Duration keep_offline = std::chrono::hours(24);
  // From the call to its answer. What takes longer is a failure, even if it succeeds later.
  Duration heartbeat_write_timeout = std::chrono::seconds(2);
  WriteBatchOptions batches{};
  health::PresenceTableOptions table{};
  size_t offline_at_once = 100;  // nodes marked in one commit
  Duration tick = std::chrono::milliseconds(100);
  FollowOptions follow{};
  uint64_t seed = 1;  // of the jitter
};

struct PresenceStats {
  uint64_t announced = 0;       // answered with OK
  uint64_t goodbyes = 0;        // answered with OK
  uint64_t kept_goodbyes = 0;   // of them, those after which another process is there
  uint64_t doubled = 0;         // announcements while two processes had the name
  uint64_t commits = 0;         // that succeeded
  uint64_t written = 0;         // entries in them
  uint64_t failed_commits = 0;  // refused or failed by the store
  uint64_t late_commits = 0;    // succeeded after the write timeout
  uint64_t timed_out = 0;       // callers whose time ran out
  uint64_t refused_full = 0;    // callers beyond those that may wait
  uint64_t marked_offline = 0;  // nodes
  uint64_t lost_races = 0;      // marks that a heartbeat or another controller made void
  uint64_t failed_marks = 0;    // commits or reads of marks that the store failed
};

// What the service tells others; any may be empty.
struct PresenceHooks {
  // Adds to an answer what the node should trust and do.
  std::function<void(const v1::AnnounceRequest&, v1::AnnounceResponse&)> fill_response = {};
  // After each write, on the loop: whether the store took it in time.
  std::function<void(const Status&)> on_write = {};
  // Whether this controller is the one that says who is offline. Empty: it is.
  std::function<bool()> is_active = {};
  // Where announcements are read; null: where they are written.
  store::Store* followed = nullptr;
  // Whether marking nodes is this controller's to do, and what each such commit carries so that it
  // fails once it is not; nothing: it is another's. Empty function: always.
  std::function<std::optional<std::vector<store::Operation>>()> mark_checks = {};
};

class PresenceService {
 public:
  PresenceService(const asio::any_io_executor& loop, store::Store& store, const Clock& clock,
                  PresenceOptions options, PresenceHooks hooks = {});

  // Answered when it is stored. kUnavailable HF1101: the store did not take it in time, try again.
  // kResourceExhausted HF1102: too many wait. kInvalidArgument: not what a node may say.
  // `certificate_expires`: of the caller's certificate; the epoch if it has none.
  asio::awaitable<Result<v1::AnnounceResponse>> announce(v1::AnnounceRequest request,
                                                         WallTime certificate_expires);
  // Removes the entry, unless another process is there under its name; OK if there is none.
  // `within` is the most it waits for the store, if that is to be less than a heartbeat may.
  asio::awaitable<Result<v1::GoodbyeResponse>> goodbye(v1::GoodbyeRequest request,
                                                       Duration within = Duration::max());

  // Begins to follow the store and to watch the clock.
  void start();
  // Ends what start() began and answers whoever still waits with kUnavailable.
  asio::awaitable<void> stop();

  health::NodeCounts counts(health::NodeKind kind) const { return table_.counts(kind); }
  Duration ttl_for(health::NodeKind kind) const;
  // Whether it knows all nodes that the store knows.
  bool in_step() const;
  const PresenceStats& stats() const { return stats_; }
  uint64_t graces() const { return table_.graces(); }

 private:
  struct Waiter {
    asio::steady_timer timer;
    std::optional<Result<store::Revision>> result{};
  };

  void look_for_other(const health::NodeId& id, v1::Resource& entry, Time now);
  FollowHandlers follow_kind(health::NodeKind kind);
  asio::awaitable<Result<store::Revision>> write(store::Operation operation,
                                                 std::function<void()> on_accepted,
                                                 Duration within = Duration::max());
  void pump(Time now);
  asio::awaitable<void> pump_at(Time when);
  asio::awaitable<void> commit(WriteBatches::Batch batch);
  void answer(const WriteBatches::Batch& batch, const Result<store::Revision>& result);
  void report_write(const Status& status);

  asio::awaitable<void> tick();
  asio::awaitable<void> mark_offline(std::vector<health::Overdue> overdue);
  asio::awaitable<Result<std::vector<store::Operation>>> read_marks(
      const std::vector<health::Overdue>& overdue);
  std::optional<store::Operation> make_mark(const store::Item& item,
                                            const health::Overdue& overdue);
  asio::awaitable<Status> commit_marks(std::vector<store::Operation> marks);
  asio::awaitable<Status> commit_together(std::vector<store::Operation> marks);
  asio::awaitable<Status> commit_checked(std::vector<store::Operation> marks);
  bool may_mark() const { return !hooks_.mark_checks || hooks_.mark_checks(); }

  asio::any_io_executor loop_;
  store::Store& store_;
  const Clock& clock_;
  PresenceOptions options_;
  PresenceHooks hooks_;
  Rng rng_;
  health::PresenceTable table_;
  WriteBatches batches_;
  std::unordered_map<WriteBatches::Ticket, Waiter*> waiters_;
  std::optional<Time> pump_at_;  // a coroutine waits until then
  bool cut_off_ = false;         // the store failed since the last tick
  bool marking_ = false;
  bool stopped_ = false;
  PresenceStats stats_;
  std::list<FollowService> follows_;
  net::TaskGroup tasks_;
};

}  // namespace holdfast::api
