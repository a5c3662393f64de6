#include "app/witness.h"

#include <utility>

#include "base/log.h"
#include "base/reason.h"
#include "holdfast/v1/identity.grpc.pb.h"
#include "identity/certificate.h"
#include "node/identity_loader.h"

namespace holdfast::app {
namespace {

constexpr Duration kWitnessTick = std::chrono::seconds(1);

using IdentityCalls = v1::Identity::StubInterface::async_interface;

node::SharedIdentity share(node::HeldIdentity held) {
  return std::make_shared<const node::HeldIdentity>(std::move(held));
}

NodeReads no_reads() {
  const auto none = [] {
    return coded(absl::StatusCode::kUnimplemented, "HF6011", "a witness has no cache");
  };
  return {
      .get = [none](v1::GetRequest) -> asio::awaitable<Result<web::Sourced<v1::Resource>>> {
        co_return none();
      },
      .list = [none](v1::ListRequest) -> asio::awaitable<Result<web::Sourced<v1::ListResponse>>> {
        co_return none();
      },
      .caches = [] { return std::vector<v1::CachedKind>(); }};
}

}  // namespace

Witness::Witness(const asio::any_io_executor& loop, const Clock& clock, WitnessOptions options,
                 node::HeldIdentity held)
    : clock_(clock),
      options_(std::move(options)),
      folder_(options_.data_dir + "/identity"),
      registry_({.version = options_.version}),
      fan_out_({}, {}),
      fronts_(loop, {.clock = clock, .registry = registry_, .fan_out = fan_out_}, no_reads(),
              {.node = identity::to_string(held.who),
               .socket_file = options_.data_dir + "/node.sock",
               .listen = options_.health_listen}),
      link_(loop, clock, {.servers = options_.servers, .pick = {.seed = options_.seed}},
            share(std::move(held))),
      keeper_({}, options_.seed),
      tasks_(loop) {}

Result<std::unique_ptr<Witness>> Witness::open(const asio::any_io_executor& loop,
                                               const Clock& clock, WitnessOptions options,
                                               node::HeldIdentity held) {
  TRY(std::unique_ptr<WitnessPart> part,
      WitnessPart::open(loop, clock, {.listen = options.listen, .data_dir = options.data_dir}));
  std::unique_ptr<Witness> witness(new Witness(loop, clock, std::move(options), std::move(held)));
  witness->part_ = std::move(part);
  return witness;
}

Result<std::vector<std::string>> Witness::listen() {
  TRY(std::vector<std::string> addresses, fronts_.listen());
  TRY(std::string record, part_->listen(held()));
  addresses.push_back(std::move(record));
  return addresses;
}

void Witness::start() {
  log::info("witness starts", {{"node", identity::to_string(held().who)},
                               {"cluster", held().who.cluster},
                               {"expires", to_rfc3339(held().validity.not_after)}});
  keeper_.hold(held().validity, held().validity.not_before);
  keeper_.set_present(true);  // nobody has to know of it first
  link_.start();
  tasks_.spawn(tick());
  tasks_.spawn(follow_trust());
}

asio::awaitable<void> Witness::stop() {
  co_await part_->stop();
  co_await fronts_.stop();
  co_await tasks_.join();
  co_await link_.stop();
}

// Requires: it is on disk.
void Witness::adopt(node::HeldIdentity next) {
  const node::SharedIdentity shared = share(std::move(next));
  part_->set_identity(*shared);
  link_.use(shared);
}

asio::awaitable<void> Witness::tick() {
  for (;;) {
    const node::IdentityKeeper::Action action = keeper_.on_tick(clock_.wall_now());
    if (action == node::IdentityKeeper::Action::Renew) co_await renew();
    if (action == node::IdentityKeeper::Action::Expired) {
      log::error("the certificate has run out; join again: holdfast join --replace",
                 {{"code", "HF5003"}});
    }
    fronts_.report(part_->report());
    part_->update_metrics(registry_);
    const bool slept = co_await net::pause(kWitnessTick);
    if (!slept) co_return;
  }
}

asio::awaitable<void> Witness::renew() {
  const Status renewed = co_await try_renew();
  if (renewed.ok()) {
    log::info("certificate renewed", {{"expires", to_rfc3339(held().validity.not_after)}});
    co_return keeper_.hold(held().validity, clock_.wall_now());
  }
  keeper_.failed(clock_.wall_now());
  if (keeper_.failures() == 1) {
    log::warn("cannot renew the certificate; trying again", {{"why", renewed.ToString()}});
  }
}

asio::awaitable<Status> Witness::try_renew() {
  node::IdentityPems pems;
  CO_TRY(pems.private_key, identity::make_private_key());
  v1::RenewRequest request;
  CO_TRY(*request.mutable_request_pem(), identity::make_request(pems.private_key));
  CO_TRY(const v1::Credentials made,
         co_await link_.renew(std::move(request), options_.call_timeout));
  pems.certificate = made.certificate_pem();
  pems.ca = made.ca_pem();
  CO_TRY(node::HeldIdentity next, node::with_certificate(held(), pems));
  CO_TRY_OK(node::save_identity(folder_, next));
  adopt(std::move(next));
  co_return absl::OkStatus();
}

// Nodes hear of a new authority when they announce themselves; a witness asks.
asio::awaitable<void> Witness::follow_trust() {
  for (;;) {
    const bool slept = co_await net::pause(options_.look_for_trust);
    if (!slept) co_return;
    const Status taken = co_await take_trust();
    if (!taken.ok()) log::debug("whom to trust was not told", {{"why", taken.ToString()}});
  }
}

asio::awaitable<Status> Witness::take_trust() {
  CO_TRY(const v1::Authority authority,
         co_await link_.pick().call<v1::Identity>(
             &IdentityCalls::GetAuthority, v1::GetAuthorityRequest(),
             {.timeout = options_.call_timeout, .repeat = rpc::Repeat::Safe}));
  if (authority.ca_pem() == held().ca_pem) co_return absl::OkStatus();
  CO_TRY(node::HeldIdentity next, node::with_bundle(held(), authority.ca_pem()));
  CO_TRY_OK(node::save_bundle(folder_, next));
  log::info("trusting what the cluster trusts now");
  adopt(std::move(next));
  co_return absl::OkStatus();
}

}  // namespace holdfast::app
