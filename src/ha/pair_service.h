// One half of a pair, running: the one owner of Half on the controller's loop. It carries beats,
// entries and questions to the witness back and forth, lets clients in or sends them away, and
// tells the store what may be acknowledged.
//
//   peer ── PeerLinkService ──┐                    ┌── enter(): every client's call
//   peer ── Beats, Replicate ─┼─► Half ─► actions ─┼── ReplicatedStore: may it, is it acknowledged
//   WitnessLinkService ───────┘                    └── ShippingService ─► peer
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/lasting.h"
#include "base/result.h"
#include "ha/half.h"
#include "ha/intake_service.h"
#include "ha/peer_link_service.h"
#include "ha/shipping_service.h"
#include "ha/witness_link_service.h"
#include "holdfast/v1/pair.pb.h"
#include "net/task_group.h"
#include "store/replica.h"
#include "store/replicated_store.h"

namespace holdfast::ha {

namespace asio = boost::asio;

struct PairOptions {
  HalfOptions half{};
  PeerLinkOptions peer{};
  std::optional<WitnessLinkOptions> witness{};
  ShippingOptions shipping{};
  std::string quarantine_folder{};  // of what a copy replaced; empty: nothing is kept
  std::string alone_file{};         // see alone_loader.h; empty: it is not kept
  Duration switch_patience = std::chrono::seconds(5);  // an operator's
  Duration write_patience = std::chrono::seconds(5);   // for a write to be acknowledged
};

// Called on the loop; must not wait.
struct PairHooks {
  // Who is active, or in which epoch, or whether this half is ready, is not what it was.
  std::function<void()> changed{};
  // To every stream of beats that the other half has open here.
  std::function<void(const v1::Beat&)> send_beat{};
};

// What becomes of a client's call.
struct Passage {
  Status status{};       // OK: it is served
  std::string role{};    // of this half, as "passive"
  std::string active{};  // where it is served; empty: not known
};

struct PairStats {
  uint64_t switches = 0;  // times this half became active
  uint64_t step_downs = 0;
  uint64_t votes = 0;  // calls that met a half that was not active
  uint64_t redirected = 0;
  uint64_t bad_beats = 0;
};

class PairService final : public store::Admission {
 public:
  PairService(const asio::any_io_executor& loop, const Clock& clock, store::Replica& replica,
              PairOptions options, PairHooks hooks);
  // Requires: stop() has completed, or start() was not called.
  ~PairService() override;

  void start();
  asio::awaitable<void> stop();
  // The own certificate, and whom to trust; again when it is renewed.
  void set_tls(const rpc::TlsOptions& peer, const rpc::TlsOptions& witness);

  // Every call of a client comes by here, votes if it is somebody's, and waits a while for what
  // becomes of it.
  asio::awaitable<Passage> enter(bool votes);
  // Calls that are served by either half vote all the same; they do not wait.
  void vote();
  // kUnavailable HF4301 for a caller that knows of a later epoch than this half, which asks the
  // witness and the other half then, if the caller is somebody.
  Status check_epoch(Epoch known, bool somebody);
  bool is_active() const { return half_.is_active(); }
  // Whether clients are to come here: it is active and answers them. An active half that nobody
  // confirms (HF4107) is ready for as long again as the other half needs to take over from it
  // (ha.take less ha.lease): until then it may only have lost a few beats, or be about to go on
  // alone, by the witness's leave; and clients that leave it then find nobody else.
  bool is_ready() const { return ready_.holds(); }
  // What is written here is not on every disk that it has to be on.
  bool is_waiting() const;
  // Of the tenure that is served; what is promised if none is.
  Epoch epoch() const;
  // As a client is told when it is sent away.
  Passage refusal() const;
  // Returns when this half is active and may answer; false if cancelled before.
  asio::awaitable<bool> until_serving();

  // The other half's calls.
  v1::Beat beat();
  void on_beat(const v1::Beat& beat);
  asio::awaitable<Result<v1::ReplicateResponse>> replicate(v1::ReplicateRequest request);

  // What the store asks.
  Status may_write() const override { return half_.may_write(clock_.now()); }
  Status may_read() const override { return half_.may_read(clock_.now()); }
  uint64_t activation() const override { return stats_.switches; }
  store::Revision acknowledged_through() const override;
  // kUnavailable HF4115 "outcome unknown" if this half steps down before, or it takes too long.
  asio::awaitable<Status> acknowledged(store::Revision revision) override;

  // Operators' calls.
  v1::PairStatus status() const;
  asio::awaitable<Result<v1::SwitchOverResponse>> switch_over();
  asio::awaitable<Result<v1::PromoteResponse>> promote(v1::PromoteRequest request);
  // kFailedPrecondition HF4124, HF4125: this half is known to lack what the other has.
  asio::awaitable<Status> may_promote();
  // Before the cluster's authority is made: a primary that has no identity begins the pair, alone.
  // Nothing else, in any mode, would make it active: it cannot speak with anybody yet.
  // kFailedPrecondition HF4123: this is the backup, or the other half has a cluster already.
  asio::awaitable<Status> found();

  const Clock& clock() const { return clock_; }
  const Half& half() const { return half_; }
  const PairStats& stats() const { return stats_; }
  const ShippingService& shipping() const { return shipping_; }
  const IntakeService& intake() const { return intake_; }
  const WitnessLinkService* witness() const { return witness_ ? &*witness_ : nullptr; }
  bool is_connected() const { return link_.is_up(); }
  // For other calls to it; null while there is no connection.
  std::shared_ptr<grpc::Channel> peer_channel() const { return link_.channel(); }
  store::Revision lag() const;

 private:
  struct AckWaiter {
    asio::steady_timer timer;
    std::optional<Status> result{};
  };

  void act(HalfActions actions);
  void notice();
  bool note_ready();
  void on_role(State before);
  void note_written();
  void wake_acknowledged();
  void fail_waiters();
  void send_beat();
  PeerLinkHandlers link_handlers();
  ShippingHandlers shipping_handlers();
  IntakeHandlers intake_handlers();
  asio::awaitable<void> tick();
  asio::awaitable<void> beats();
  asio::awaitable<void> ask_witness(AskWitness ask);
  asio::awaitable<void> begin_tenure(Epoch epoch);
  Status may_serve(Epoch epoch) const;
  bool is_own(Epoch epoch) const;
  Status note_alone(Epoch epoch);
  Epoch acknowledged_epoch() const;
  asio::awaitable<void> quiesce();
  asio::awaitable<Status> begin_switch(Time deadline);
  // False: the deadline has passed, or this coroutine was cancelled.
  asio::awaitable<bool> wait_for_change(Time deadline);
  v1::PairHalf describe_self() const;
  v1::PairHalf describe_peer() const;
  std::string with_cause(const Status& problem) const;
  Status disk_obstacle() const;
  void add_disk_problems(v1::PairStatus& status) const;

  asio::any_io_executor loop_;
  const Clock& clock_;
  store::Replica& replica_;
  PairOptions options_;
  PairHooks hooks_;
  Half half_;
  PeerLinkService link_;
  std::optional<WitnessLinkService> witness_;
  ShippingService shipping_;
  IntakeService intake_;
  Epoch alone_through_;
  Epoch begun_last_ = 0;  // of the tenures that the half wanted
  Lasting ready_;
  State seen_state_;
  Epoch seen_epoch_ = 0;
  std::multimap<store::Revision, AckWaiter*> ack_waiters_;
  std::list<asio::steady_timer*> change_waiters_;
  asio::steady_timer alarm_;
  WallTime started_;
  PairStats stats_;
  asio::thread_pool files_{1};  // makes and writes what is large
  bool stopped_ = false;
  net::TaskGroup tasks_;
};

}  // namespace holdfast::ha
