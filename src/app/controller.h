// The controller: a store, the events of its changes, who may do what, and the API in front of
// them. Wiring only; members stand in the order they are built and go in the reverse.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/audit_service.h"
#include "api/authority_service.h"
#include "api/divergence_service.h"
#include "api/feed_service.h"
#include "api/follow_service.h"
#include "api/gate.h"
#include "api/grpc_server.h"
#include "api/health_streams.h"
#include "api/identity_service.h"
#include "api/lawful.h"
#include "api/load_forward_service.h"
#include "api/load_service.h"
#include "api/load_stats_service.h"
#include "api/node_service.h"
#include "api/pair_control_service.h"
#include "api/presence_service.h"
#include "api/resource_service.h"
#include "api/revocation_service.h"
#include "api/tenure_service.h"
#include "api/watch_streams.h"
#include "app/controller_options.h"
#include "app/controller_pair.h"
#include "base/clock.h"
#include "base/result.h"
#include "events/fan_out.h"
#include "health/health.h"
#include "metrics/metrics.h"
#include "net/task_group.h"
#include "store/file_lock.h"
#include "store/store.h"
#include "web/web_server.h"

namespace holdfast::app {

namespace asio = boost::asio;

class Controller {
 public:
  // Opens the store and listens on the unix socket; with TLS as soon as there is an authority.
  // Blocks while it does.
  static Result<std::unique_ptr<Controller>> start(asio::io_context& loop, const Clock& clock,
                                                   ControllerOptions options);

  // The addresses clients may use, those with TLS once they are open.
  const std::vector<std::string>& addresses() const { return addresses_; }
  // Why it stopped by itself; OK if it did not.
  const Status& failure() const { return failure_; }
  // What became of reading the configuration again; an error shows in health.
  void on_configuration(const Status& status);
  // Says goodbye, finishes what runs, then returns; the loop runs dry after it.
  asio::awaitable<void> stop();

 private:
  // What may fail is opened first.
  struct Opened {
    store::FileLock lock;
    std::unique_ptr<store::Store> store;
    std::unique_ptr<api::AuditService> audit;
  };
  Controller(asio::io_context& loop, const Clock& clock, ControllerOptions options, Opened opened);
  std::unique_ptr<ControllerPair> make_pair();
  api::HealthStreams::Options health_stream_options();
  api::FeedService::Options feed_options();
  std::function<void(v1::GetStatusResponse&)> describe_pair();
  Status listen();
  Status listen_http();
  asio::awaitable<void> stop_serving();
  Status listen_with_tls();
  void follow_identity();
  void follow_load();
  api::LoadService::Parts load_parts();
  Status may_deal() const;
  void tell_load();
  Result<rpc::TlsOptions> own_tls() const;
  void on_certificate(const api::ServerCertificate& certificate);
  Status identity_status();
  void report_feed();
  void report_pair();
  void on_pair_changed();
  // Whether this controller is the one that writes: always, unless it is a passive half of a pair.
  bool is_active() const { return pair_ == nullptr || pair_->service().is_active(); }
  // As clients see it; the store itself, if this controller is not one of a pair.
  store::Store& shown_store() { return pair_ == nullptr ? *store_ : pair_->store(); }
  ha::PairService* pair_service() { return pair_ == nullptr ? nullptr : &pair_->service(); }
  // Of what this half wrote and the pair did not keep.
  std::string divergence_folder() const;
  store::Replica& replica() const;               // requires: of a pair
  std::optional<api::PairWrites> pair_writes();  // of a pair
  void take_away_again();                        // starts revocations_
  asio::awaitable<void> find_identity();
  Status use_joined_identity();
  void follow_pair_identity();
  asio::awaitable<void> announce_peer();
  void report(const std::string& component, const Status& status);
  void fill_response(const v1::AnnounceRequest& request, v1::AnnounceResponse& response) const;
  v1::AnnounceRequest own_announcement() const;
  asio::awaitable<void> heartbeat();
  asio::awaitable<void> tick();
  asio::awaitable<void> expire_items();
  std::string identity_file() const { return options_.data_dir + "/identity.pem"; }
  api::GrpcServices services();
  web::Backend backend();
  void update_metrics();

  asio::any_io_executor loop_;
  Status failure_;
  const Clock& clock_;
  ControllerOptions options_;
  const WallTime started_;
  store::FileLock lock_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<api::AuditService> audit_;
  health::Health health_;
  events::FanOut fan_out_;
  api::Gate gate_;
  std::unique_ptr<ControllerPair> pair_;  // null: it is not one of a pair
  asio::thread_pool files_{1};            // reads what is too large for the loop
  api::PairControlService pair_control_;
  api::DivergenceService divergences_;
  std::optional<api::RevocationService> revocations_;  // of a pair
  api::ResourceService resources_;
  api::WatchStreams watches_;
  api::HealthStreams health_streams_;
  api::FeedService feed_;
  api::AuthorityService authority_;
  api::IdentityService identity_;
  api::TenureService tenure_;
  api::PresenceService presence_;
  api::NodeService nodes_;
  api::LoadForwardService load_forward_;
  api::LoadService load_;
  std::list<api::FollowService> follows_;
  Status identity_written_;
  Status expiry_failure_;
  bool fed_ = false;         // the feed has run
  bool feed_lost_ = false;   // and does not now
  bool pair_ready_ = false;  // as it was last reported, and why not
  Status pair_status_;
  api::GateChanges gate_changes_{gate_};  // for watches over HTTP
  bool stopping_ = false;
  metrics::Registry registry_;
  web::WebServer web_;
  std::vector<std::string> addresses_;
  std::unique_ptr<api::GrpcServer> local_server_;
  std::unique_ptr<api::GrpcServer> tls_server_;
  std::optional<api::LoadStatsService> load_stats_;
  net::TaskGroup tasks_;
};

}  // namespace holdfast::app
