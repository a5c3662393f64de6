// What a controller follows in its own store, and whom it asks when it does not deal.
#include <fmt/format.h>

#include "app/controller.h"
#include "base/reason.h"
#include "identity/rotation.h"

namespace holdfast::app {

using resource::Kind;

void Controller::follow_identity() {
  for (const Kind kind : {Kind::Role, Kind::User, Kind::CertAuthority}) {
    follows_.emplace_back(
        *store_, resource::kind_prefix(kind),
        api::FollowHandlers{
            .on_reset = [this, kind](std::vector<store::Item> items,
                                     store::Revision) { authority_.on_reset(kind, items); },
            .on_change = [this](const store::Change& change) { authority_.on_change(change); }});
    tasks_.spawn(follows_.back().run());
  }
}

void Controller::follow_load() {
  const auto follow = [this](Kind kind, auto& service) {
    follows_.emplace_back(
        *store_, resource::kind_prefix(kind),
        api::FollowHandlers{
            .on_reset = [&service](std::vector<store::Item> items,
                                   store::Revision) { service.on_reset(items); },
            .on_change = [&service](const store::Change& change) { service.on_change(change); }});
    tasks_.spawn(follows_.back().run());
  };
  follow(Kind::Service, load_);
  // Only where several controllers share a store does one ask another.
  if (options_.store == StoreType::Etcd) follow(Kind::Controller, load_forward_);
  if (options_.load_stats) tell_load();
}

// Another control plane, while this controller deals.
void Controller::tell_load() {
  options_.load_stats->version = options_.version;
  load_stats_.emplace(loop_, clock_, registry_, *options_.load_stats,
                      [this] { return load_.dealer(); });
  tasks_.spawn(load_stats_->run());
}

// Of a pair the active half; of controllers on one store the one that has the tasks.
api::LoadService::Parts Controller::load_parts() {
  return {.gate = gate_,
          .clock = clock_,
          .deals = [this] { return is_active() && tenure_.held(); },
          .may_deal = [this] { return may_deal(); },
          .pass_report =
              [this](v1::LoadReport report) { return load_forward_.report(std::move(report)); },
          .pass_question =
              [this](v1::GetLoadRequest request) {
                return load_forward_.get_load(std::move(request));
              }};
}

// Not kUnavailable, as what is read then: a lease that is late once would send everybody away.
Status Controller::may_deal() const {
  if (pair_ == nullptr) return absl::OkStatus();
  const Status read = pair_->service().may_read();
  if (read.ok()) return read;
  return coded(absl::StatusCode::kFailedPrecondition, "HF2404",
               fmt::format("this half deals nothing now: {}", split_reason(read).message));
}

Result<rpc::TlsOptions> Controller::own_tls() const {
  const std::optional<api::ServerCertificate>& own = authority_.certificate();
  TRY(const v1::CertAuthority authority, authority_.authority());
  if (!own)
    return coded(absl::StatusCode::kFailedPrecondition, "HF2404", "it has no certificate yet");
  return rpc::TlsOptions{.ca_pem = identity::trusted_pem(authority),
                         .certificate_pem = own->chain_pem,
                         .private_key_pem = own->private_key_pem,
                         .server_name = std::string(identity::kControllerServerName)};
}

}  // namespace holdfast::app
