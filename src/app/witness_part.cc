#include "app/witness_part.h"

#include <grpcpp/impl/codegen/service_type.h>

#include <utility>

#include "api/pair_fronts.h"
#include "app/listen_address.h"
#include "app/metric_totals.h"
#include "base/log.h"

namespace holdfast::app {
namespace {

// Two controllers ask, a few times a second at the most.
constexpr identity::RateLimitOptions kAsksOfOne{.per_second = 100, .burst = 200};
constexpr size_t kMaxConnections = 64;

}  // namespace

WitnessPart::WitnessPart(const asio::any_io_executor& loop, WitnessPartOptions options)
    : loop_(loop), options_(std::move(options)) {}

Result<std::unique_ptr<WitnessPart>> WitnessPart::open(const asio::any_io_executor& loop,
                                                       const Clock& clock,
                                                       WitnessPartOptions options) {
  std::unique_ptr<WitnessPart> part(new WitnessPart(loop, std::move(options)));
  const std::string& folder = part->options_.data_dir;
  TRY(part->service_, ha::WitnessService::open(loop, folder + "/witness.record"));
  TRY(part->audit_, api::AuditService::open({.path = folder + "/witness-audit.log"}, clock));
  part->gate_ =
      std::make_unique<api::Gate>(clock, *part->audit_, api::GateOptions{.per_caller = kAsksOfOne});
  return part;
}

Result<std::string> WitnessPart::listen(const node::HeldIdentity& held) {
  set_identity(held);
  TRY_OK(trusted_);
  api::GrpcServerOptions server;
  server.listen = {options_.listen};
  server.identity_file = options_.data_dir + "/identity/identity.pem";
  server.max_connections = kMaxConnections;
  TRY(server_,
      api::GrpcServer::start(loop_, std::move(server), *gate_, [this](api::CallRoom& room) {
        std::vector<std::unique_ptr<grpc::Service>> fronts;
        fronts.push_back(api::make_witness_front(room, *service_));
        return fronts;
      }));
  const std::string address = with_port(options_.listen, server_->ports().front());
  log::info("keeping the record of a pair",
            {{"address", address}, {"epoch", service_->record().epoch}});
  return address;
}

void WitnessPart::set_identity(const node::HeldIdentity& held) {
  trusted_ = gate_->set_trust(held.who.cluster, held.ca_pem);
  if (!trusted_.ok()) log::error("whom to trust is not known", {{"why", trusted_.ToString()}});
}

ComponentReport WitnessPart::report() const {
  if (!trusted_.ok()) return {.component = "witness", .status = trusted_};
  // It still says what its record is.
  return {.component = "witness", .status = service_->disk(), .is_warning = true};
}

void WitnessPart::update_metrics(metrics::Registry& registry) {
  audit_->on_tick();
  MetricTotals metrics(registry);
  const ha::WitnessStats& stats = service_->stats();
  metrics.set({"holdfast_witness_epoch", "The epoch of the pair's record."}, {},
              static_cast<double>(service_->record().epoch));
  metrics.count({"holdfast_witness_reads_total", "Times the record was asked for."}, {},
                stats.reads);
  metrics.count({"holdfast_witness_changes_total", "Changes of the record, by outcome."},
                {{"outcome", "accepted"}}, stats.accepted);
  metrics.count({"holdfast_witness_changes_total", "Changes of the record, by outcome."},
                {{"outcome", "refused"}}, stats.refused);
  metrics.count({"holdfast_witness_changes_total", "Changes of the record, by outcome."},
                {{"outcome", "failed"}}, stats.failed);
}

asio::awaitable<void> WitnessPart::stop() {
  if (server_ != nullptr) co_await server_->stop();
}

}  // namespace holdfast::app
