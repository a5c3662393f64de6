// The controller as one half of a pair: who it is seen as, how it is, what it does when it becomes
// active or stops being so.
#include <utility>

#include "api/pair_metadata.h"
#include "app/controller.h"
#include "base/check.h"
#include "base/log.h"
#include "base/private_file.h"
#include "base/reason.h"
#include "identity/rotation.h"
#include "resource/proto_time.h"
#include "resource/registry.h"
#include "resource/schema.h"

namespace holdfast::app {

store::Replica& Controller::replica() const {
  auto* replica = dynamic_cast<store::Replica*>(store_.get());
  HF_CHECK(replica != nullptr, "a pair's store can be replicated");
  return *replica;
}

std::unique_ptr<ControllerPair> Controller::make_pair() {
  if (!options_.pair) return nullptr;
  options_.pair->quarantine_folder = options_.data_dir + "/divergence";
  options_.pair->alone_file = options_.data_dir + "/alone";
  ha::PairOptions options = *options_.pair;
  options.half.version = options_.version;
  options.half.schema_min = resource::kSchemaMin;
  options.half.schema_max = resource::kSchemaMax;
  return std::make_unique<ControllerPair>(
      ControllerPair::Parts{loop_, clock_, *store_, replica(), gate_}, std::move(options),
      [this] { on_pair_changed(); });
}

std::string Controller::divergence_folder() const {
  return pair_ == nullptr ? "" : options_.pair->quarantine_folder;
}

std::optional<api::PairWrites> Controller::pair_writes() {
  if (pair_ == nullptr) return std::nullopt;
  return api::PairWrites(pair_->store(), pair_->service());
}

void Controller::take_away_again() {
  revocations_.emplace(api::RevocationService::Parts{
      .reads = *store_,
      .replica = replica(),
      .write =
          [writes = *pair_writes()](store::Operation operation) mutable {
            return writes.write(std::move(operation));
          },
      .worker = files_,
      .folder = divergence_folder()});
  tasks_.spawn(revocations_->run());
}

// Who asks how this half is wants one that serves, and obeys nobody who does not name its epoch.
api::HealthStreams::Options Controller::health_stream_options() {
  if (pair_ == nullptr) return {};
  return {.on_watch = [this](grpc::CallbackServerContext& context) {
    pair_->service().vote();
    api::add_epoch(pair_->service(), context);
  }};
}

api::FeedService::Options Controller::feed_options() {
  if (pair_ == nullptr) return {};
  return {.until_ready = [this] { return pair_->service().until_serving(); }};
}

std::function<void(v1::GetStatusResponse&)> Controller::describe_pair() {
  if (pair_ == nullptr) return {};
  return [this](v1::GetStatusResponse& status) {
    status.set_pair_role(pair_->service().refusal().role);
    status.set_pair_epoch(pair_->service().epoch());
  };
}

void Controller::on_pair_changed() {
  if (!is_active()) {
    const Status why = pair_->service().refusal().status;
    watches_.end_all(why);
    web_.end_watches(why);
    pair_->store().end_watches(why);
    fed_ = false;  // and the feed begins anew when this half is active again
  }
  report_pair();
}

// A half that is not active is not ready, and ready at once when it is. Nor is one that nobody
// confirms, and that answers no reads: whoever can find another server should look for it.
void Controller::report_pair() {
  const Status status = pair_->status();
  const bool ready = pair_->service().is_ready();
  const bool news = ready && (!pair_ready_ || pair_status_ != status);
  pair_ready_ = ready;
  pair_status_ = status;
  if (!ready && !status.ok()) report("pair", status);
  if (!news) return;
  health_.forget("pair");
  report("pair", absl::OkStatus());
  if (!status.ok()) health_.report_warning("pair", status, clock_.now());
}

// A backup that joined by a token serves and dials with what it was given until the first copy
// brings the authority.
asio::awaitable<void> Controller::find_identity() {
  const Result<store::Item> authority =
      co_await store_->get(resource::store_key(resource::Kind::CertAuthority, api::kAuthorityName));
  if (!absl::IsNotFound(authority.status())) co_return;
  const Status used = use_joined_identity();
  if (used.ok()) co_return;
  log::error("the identity that was joined with is of no use", {{"why", used.ToString()}});
  report("identity", used);
}

Status Controller::use_joined_identity() {
  const Result<JoinedIdentity> joined = joined_identity(options_.data_dir, options_.name);
  if (absl::IsNotFound(joined.status())) return absl::OkStatus();
  TRY_OK(joined.status());
  const PairIdentity& identity = joined->identity;
  TRY_OK(gate_.set_trust(joined->cluster, identity.ca_pem));
  const std::string chain = identity.certificate_pem + identity.ca_pem;
  TRY_OK(write_private_file(identity_file(), identity.private_key_pem + chain));
  TRY_OK(web_.set_tls(chain, identity.private_key_pem));
  pair_->set_identity(identity);
  log::info("using the identity that was joined with", {{"cluster", joined->cluster}});
  if (tls_server_ == nullptr && !options_.listen.empty()) return listen_with_tls();
  return absl::OkStatus();
}

void Controller::follow_pair_identity() {
  if (pair_ == nullptr) return;
  const std::optional<api::ServerCertificate>& own = authority_.certificate();
  const Result<v1::CertAuthority> authority = authority_.authority();
  if (!own || !authority.ok()) return;
  pair_->set_identity({.certificate_pem = own->chain_pem,
                       .private_key_pem = own->private_key_pem,
                       .ca_pem = identity::trusted_pem(*authority)});
}

// A passive half writes nothing, so it is announced by the one that hears it.
asio::awaitable<void> Controller::announce_peer() {
  if (pair_ == nullptr || !is_active()) co_return;
  const ha::Half& half = pair_->service().half();
  const std::optional<ha::Beat>& peer = half.peer();
  if (!peer || !half.peer_alive(clock_.now()) || peer->name.empty()) co_return;
  v1::AnnounceRequest request = own_announcement();
  *request.mutable_resource() = resource::make_resource(resource::Kind::Controller, peer->name);
  v1::Controller& other = *request.mutable_resource()->mutable_controller();
  other.set_address(peer->address);
  other.set_version(peer->version);
  other.set_zone(options_.zone);
  const Result<v1::AnnounceResponse> announced =
      co_await presence_.announce(std::move(request), WallTime());
  if (!announced.ok()) {
    log::debug("the other half could not be announced", {{"why", announced.status().ToString()}});
  }
}

}  // namespace holdfast::app
