#include "app/controller_pair.h"

#include <fmt/format.h>

#include <utility>

#include "base/bytes.h"
#include "base/log.h"
#include "base/reason.h"
#include "identity/certificate.h"
#include "node/identity_loader.h"

namespace holdfast::app {
namespace {

web::Passage to_web(ha::Passage passage) {
  return {.status = std::move(passage.status),
          .role = std::move(passage.role),
          .active = std::move(passage.active)};
}

bool is_somebody(const api::Caller& caller) {
  return caller.identity.role != identity::Role::Nobody;
}

double in_seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

Result<JoinedIdentity> joined_identity(const std::string& data_dir, const std::string& name) {
  const std::string folder = data_dir + "/identity";
  const Result<node::LoadedNode> loaded = node::load_node(folder);
  if (split_reason(loaded.status()).code == "HF5017") return absl::NotFoundError(folder);
  TRY_OK(loaded.status());
  const node::HeldIdentity& held = loaded->held;
  if (held.who.role != identity::Role::Controller || held.who.name != name) {
    return coded(absl::StatusCode::kFailedPrecondition, "HF5018",
                 fmt::format("{} holds the identity of {}, and this is controller/{}; join again "
                             "with a token for a controller of that name",
                             in_quotes(folder, 256), identity::to_string(held.who), name));
  }
  return JoinedIdentity{.identity = {.certificate_pem = held.certificate_pem,
                                     .private_key_pem = held.private_key_pem,
                                     .ca_pem = held.ca_pem},
                        .cluster = held.who.cluster};
}

ControllerPair::ControllerPair(const Parts& parts, ha::PairOptions options,
                               std::function<void()> changed)
    : beats_(parts.loop, parts.gate, {.own_name = options.half.name}),
      service_(parts.loop, parts.clock, parts.replica, std::move(options),
               {.changed = std::move(changed),
                .send_beat = [this](const v1::Beat& beat) { beats_.send(beat); }}),
      store_(parts.store, service_) {
  beats_.set_pair(service_);
}

web::PairBackend ControllerPair::backend() {
  return {.enter = [this](const api::Caller& caller,
                          uint64_t known_epoch) -> asio::awaitable<web::Passage> {
            const Status known = service_.check_epoch(known_epoch, is_somebody(caller));
            if (!known.ok()) co_return web::Passage{.status = known};
            co_return to_web(co_await service_.enter(is_somebody(caller)));
          },
          .vote =
              [this](const api::Caller& caller) {
                if (is_somebody(caller)) service_.vote();
              },
          .epoch = [this] { return service_.epoch(); },
          .refusal = [this] { return to_web(service_.refusal()); }};
}

void ControllerPair::set_identity(const PairIdentity& identity) {
  if (identity == identity_) return;
  identity_ = identity;
  rpc::TlsOptions peer{.ca_pem = identity.ca_pem,
                       .certificate_pem = identity.certificate_pem,
                       .private_key_pem = identity.private_key_pem,
                       .server_name = std::string(identity::kControllerServerName)};
  rpc::TlsOptions witness = peer;
  witness.server_name = std::string(identity::kWitnessServerName);
  service_.set_tls(peer, witness);
}

Status ControllerPair::status() const {
  if (!service_.is_active()) return service_.refusal().status;
  const std::vector<Status> problems = service_.half().problems(service_.clock().now());
  if (!problems.empty()) return problems.front();
  return service_.shipping().core().obstacle();
}

void ControllerPair::update_metrics(MetricTotals& metrics) const {
  const ha::Half& half = service_.half();
  const Time now = service_.clock().now();
  const auto set = [&](const char* name, const char* help, double value) {
    metrics.set({name, help}, {}, value);
  };
  const auto count = [&](const char* name, const char* help, uint64_t total) {
    metrics.count({name, help}, {}, total);
  };
  set("holdfast_pair_active", "1 if this half of the pair is the active one.",
      service_.is_active() ? 1 : 0);
  set("holdfast_pair_state", "1 primary, 2 backup, 3 active, 4 passive.",
      static_cast<double>(half.protocol().state()));
  set("holdfast_pair_epoch", "The epoch that is served, or promised.",
      static_cast<double>(service_.epoch()));
  set("holdfast_pair_connected", "1 while this half hears the other's beats.",
      service_.is_connected() ? 1 : 0);
  set("holdfast_pair_in_sync", "1 if the other half has all that is acknowledged; of the active.",
      service_.is_active() && half.protocol().peer_in_sync() ? 1 : 0);
  set("holdfast_pair_lag_revisions", "Revisions that the passive half lacks.",
      static_cast<double>(service_.lag()));
  set("holdfast_pair_peer_silence_seconds", "Since the other half was heard.",
      in_seconds(half.peer_silence(now)));
  if (half.last_switch()) {
    set("holdfast_pair_last_switch_seconds", "How long the last change of the active half took.",
        in_seconds(half.last_switch()->took));
  }
  if (service_.witness() != nullptr) {
    set("holdfast_pair_witness_silence_seconds", "Since the witness answered.",
        in_seconds(service_.witness()->silence()));
    count("holdfast_pair_witness_unanswered_total", "Questions that the witness did not answer.",
          service_.witness()->unanswered());
  }
  const ha::PairStats& stats = service_.stats();
  count("holdfast_pair_activations_total", "Times this half became active.", stats.switches);
  count("holdfast_pair_step_downs_total", "Times it stopped being active.", stats.step_downs);
  count("holdfast_pair_votes_total", "Calls that met a half that was not active.", stats.votes);
  count("holdfast_pair_redirected_total", "Calls that were sent away.", stats.redirected);
  count("holdfast_pair_bad_beats_total", "Beats that made no sense.", stats.bad_beats);
  count("holdfast_pair_late_ticks_total", "Times this process was away for too long.",
        half.late_ticks());
  count("holdfast_pair_copies_sent_total", "Whole copies begun for the other half.",
        service_.shipping().core().copies());
  count("holdfast_pair_copies_taken_total", "Whole copies taken from the other half.",
        service_.intake().stats().copies);
  count("holdfast_pair_entries_sent_total", "Entries of the history sent.",
        service_.shipping().stats().entries);
  count("holdfast_pair_entries_taken_total", "Entries of the history taken.",
        service_.intake().stats().entries);
}

}  // namespace holdfast::app
