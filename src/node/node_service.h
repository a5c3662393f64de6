// A node's side of identity and presence: announces it, keeps its certificate fresh, follows the
// authority's rotation, says goodbye. What an agent or a proxy does besides comes on top.
//
//            ┌── health::Announcer: when to announce
//   run() ───┤
//            └── IdentityKeeper: when to renew
//      │ announce, renew                      ▲ what happened; new trust, "renew now"
//      └────────► LinkService ── mTLS ── a healthy controller
//                       │                     │
//   follow_link() ◄─────┘ another is in use   │
//   the identity folder ◄── each change, before it is used
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "health/announcer.h"
#include "net/task_group.h"
#include "node/fence_service.h"
#include "node/identity_keeper.h"
#include "node/identity_loader.h"
#include "node/link_service.h"

namespace holdfast::node {

struct NodeOptions {
  std::string folder{};                // that `holdfast join` made
  std::vector<std::string> servers{};  // HOST:PORT, of one cluster
  rpc::PickHealthyServiceOptions pick{};
  // Where the highest epoch of the controllers is kept, and what was found there.
  std::string epoch_file{};
  rpc::KeptEpoch epoch{};
  std::string version{};
  health::AnnouncerOptions announcer{};
  IdentityKeeperOptions keeper{};
  Duration renew_timeout = std::chrono::seconds(5);
  Duration goodbye_timeout = std::chrono::seconds(2);
  // How often the folder is looked at for a new identity once the own one has run out, and the
  // longest wait before the calendar is looked at again.
  Duration look_again = std::chrono::seconds(5);
  uint64_t seed = 1;  // of the jitter
  // Adds to an announcement, which has the node's name, zone, version and start, what else the node
  // has to say; asked each time.
  std::function<void(v1::Resource&)> describe{};
};

struct NodeStats {
  uint64_t announced = 0;
  uint64_t failed_announcements = 0;
  uint64_t renewed = 0;
  uint64_t failed_renewals = 0;
  uint64_t new_bundles = 0;
};

class NodeService {
 public:
  // Requires: at least one server; the identity is a proxy's or an agent's.
  NodeService(const asio::any_io_executor& loop, const Clock& clock, NodeOptions options,
              HeldIdentity held);

  void start();
  // Ends what start() began, says goodbye and leaves the controllers, in bounded time.
  asio::awaitable<void> stop();
  // What `describe` says has changed: it is announced, at most once in announcer.min_interval.
  void content_changed();
  // The same, and waits until a controller has taken it; false after this long. It does not wait
  // for a backoff. Requires: nobody else waits in it.
  asio::awaitable<bool> announce_within(Duration timeout);

  const HeldIdentity& identity() const { return *link_.newest(); }
  const NodeStats& stats() const { return stats_; }
  const FenceService& fence() const { return fence_; }
  // For others that talk to the controllers. Goes with stop().
  rpc::PickHealthyService& pick() { return link_.pick(); }

 private:
  asio::awaitable<void> run();
  asio::awaitable<void> follow_link();
  asio::awaitable<void> say_goodbye();
  void step();
  Duration until_next() const;
  void wake() { timer_.cancel(); }

  v1::AnnounceRequest announcement(const HeldIdentity& held) const;
  asio::awaitable<void> announce(health::Announcer::Attempt attempt);
  void take_report(const health::Announcer::Action& action);
  void obey(const LinkService::Announced& announced);
  void take_bundle(const std::string& ca_pem);
  // Requires: it is on disk.
  void adopt(HeldIdentity held);

  asio::awaitable<void> renew();
  asio::awaitable<Status> try_renew();
  void on_expired();
  void look_for_identity();

  const Clock& clock_;
  NodeOptions options_;
  WallTime started_;
  FenceService fence_;
  LinkService link_;
  health::Announcer announcer_;
  IdentityKeeper keeper_;
  Time look_at_{};  // while expired: when to look at the folder again
  bool present_ = false;
  bool stopping_ = false;
  NodeStats stats_;
  health::Announcer::Attempt sent_ = 0;
  health::Announcer::Attempt taken_ = 0;  // by a controller
  asio::steady_timer timer_;
  asio::steady_timer taking_;  // woken by each announcement that was taken
  net::TaskGroup tasks_;
};

}  // namespace holdfast::node
