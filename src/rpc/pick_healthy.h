// Keeps a client on a healthy server: decides when to dial, when to make a second connection, and
// on which of the two calls run. The rules are those of the seed's balancer, with its own dialling,
// with doubt and with planned replacement added (docs/decisions/0012).
//
//   active   always there; calls run on it whenever it is connected, healthy or not
//   backup   only while the active is unhealthy, stuck, or to be replaced
//
//   backup Ready first:  it becomes the active, the old one is dropped (what runs on it goes on)
//   active Ready first:  the backup is dropped
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "rpc/pick_action.h"
#include "rpc/pick_child.h"

namespace holdfast::rpc {

class PickHealthy {
 public:
  // Requires: at least one address.
  PickHealthy(PickHealthyOptions options, std::vector<std::string> addresses, uint64_t seed);

  pick::Actions start(Time now);
  // Afterwards every input is dropped, and what changes the settings is an error.
  void close();

  // What became of the actions. Of connections dropped meanwhile they are ignored.
  pick::Actions on_connected(uint64_t connection, Time now);
  pick::Actions on_closed(uint64_t connection, Time now);  // the dial failed, or it was lost
  pick::Actions on_discovered(uint64_t connection, const pick::Discovery& discovery, Time now);
  pick::Actions on_health(uint64_t connection, bool serving, Time now);
  pick::Actions on_watch_ended(uint64_t connection, pick::WatchEnd end, Time now);
  pick::Actions on_probe_ended(uint64_t connection, bool answered, Time now);

  // Its server is half of a pair: what its health says and how it is doubted counts for more.
  pick::Actions on_paired(uint64_t connection, Time now);
  // Its server will say at least this often how it is; on_health tells. Zero: it will not.
  pick::Actions on_beats(uint64_t connection, Duration interval, Time now);

  // How calls fare. Unanswered: for a while; zero is a call that waits for any connection.
  pick::Actions on_unanswered(uint64_t connection, Time now);
  pick::Actions on_unavailable(uint64_t connection, Time now);
  // It does not take our credentials, which others may. Doubted like "unavailable", but another is
  // tried only as often as doubt alone allows, and has to accept them before it takes over.
  pick::Actions on_refused(uint64_t connection, Time now);
  pick::Actions on_answered(uint64_t connection, Time now);
  // It is half of a pair and does not serve. `active` says where the other is; empty: not known.
  // That one is dialled at once; if both say so, again and again, ever more seldom, with jitter.
  pick::Actions on_not_active(uint64_t connection, const std::string& active, Time now);
  // It thinks that it serves, and its time is over. The same, and its health counts for nothing.
  pick::Actions on_fenced(uint64_t connection, Time now);

  // Dials from now on use the next credentials. A connection with them is made beside the active
  // one and takes over when its server has answered the discovery.
  Result<pick::Actions> use_credentials(Time now);
  // The same, dropping every connection made with earlier ones at once.
  Result<pick::Actions> replace_credentials(Time now);
  // Drops every connection and dials nobody until there are new credentials: these are worth
  // nothing any more, and servers count who comes with them. Also before start().
  pick::Actions pause(Time now);
  // kInvalidArgument if there is none. An active connection to an address that is gone is replaced.
  Result<pick::Actions> set_addresses(std::vector<std::string> addresses, Time now);

  // How often a good connection is replaced; zero: never. The first time comes anywhere within the
  // interval: many clients are told at once. What is said again changes nothing.
  pick::Actions set_reconnect_interval(Duration interval, Time now);

  pick::Actions on_tick(Time now);
  std::optional<Time> next_deadline() const;

  uint64_t picked() const { return picked_; }
  size_t children() const { return (active_ ? 1 : 0) + (backup_ ? 1 : 0); }
  bool has_child(uint64_t connection) const;
  bool is_doubted(uint64_t connection) const;
  // Whether on_answered() would say anything new.
  bool would_be_news(uint64_t connection) const;
  // Older ones are not asked for again.
  uint64_t oldest_credentials() const { return active_ ? active_->credentials() : credentials_; }
  // Whether its server was found to answer nothing.
  bool is_silent(uint64_t connection) const;
  const pick::Counts& counts() const { return shared_.counts; }

 private:
  pick::Child* find(uint64_t connection) const;
  std::unique_ptr<pick::Child> make_child(std::string avoided);
  template <typename Change>
  pick::Actions change(uint64_t connection, Time now, Change&& change);

  void settle(Time now, pick::Actions& out);
  void decide(Time now, pick::Actions& out);
  void judge_backup(Time now, pick::Actions& out);
  bool may_move() const;
  bool is_better_than_active(const pick::Child& child) const;
  bool may_hurry(Time now);

  void follow(const pick::Child& child, const std::string& active, Time now, pick::Actions& out);
  bool may_follow(Time now);
  void make_backup(Time now, pick::Actions& out);
  void drop_backup(pick::Actions& out);
  void drop_all(pick::Actions& out);
  void take_over(Time now, pick::Actions& out);
  void timer_fired(Time now, pick::Actions& out);
  void arm_connect(Time now);
  void arm_reconnect(Time now);
  void arm_replace(Time now);
  bool is_pressed() const;
  void arm_press(Time now);
  void press(Time now, pick::Actions& out);
  void calm();
  void report_pick(Time now, pick::Actions& out);
  uint64_t best_pick() const;

  pick::Shared shared_;
  std::vector<std::string> addresses_;
  uint64_t credentials_ = 0;
  std::unique_ptr<pick::Child> active_;
  std::unique_ptr<pick::Child> backup_;
  bool started_ = false;
  bool paused_ = false;
  bool closed_ = false;
  bool replacing_ = false;  // the active, although it may be well
  uint64_t picked_ = 0;

  Duration backoff_;
  std::optional<Time> connect_at_;
  std::optional<Time> reconnect_at_;
  std::optional<Time> replace_at_;  // the next periodic reconnect

  Duration hurry_gap_{0};  // between reconnects that doubt made immediate
  std::optional<Time> hurried_at_;
  std::optional<Time> doubted_at_;
  Duration follow_gap_{0};  // between tries that passive halves made immediate
  std::optional<Time> followed_at_;
  std::string preferred_;  // whom to dial next
  std::optional<Time> press_at_;
  std::optional<Time> pressed_at_;  // the last try that did not wait for the backoff
  Duration press_wait_;
  bool press_is_patient_ = false;  // press_at_ waits for a backup that is connecting
  std::optional<Time> unusable_since_;
  bool proven_ = false;  // the active has answered a call since it became Ready
};

}  // namespace holdfast::rpc
