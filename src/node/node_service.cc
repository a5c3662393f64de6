#include "node/node_service.h"

#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"
#include "base/log.h"
#include "base/reason.h"
#include "resource/proto_time.h"
#include "resource/registry.h"

namespace holdfast::node {
namespace {

using identity::Role;

SharedIdentity share(HeldIdentity held) {
  return std::make_shared<const HeldIdentity>(std::move(held));
}

std::string why(const Status& status) {
  return std::string(status.message());
}

rpc::PickHealthyServiceOptions fenced(rpc::PickHealthyServiceOptions options, FenceService& fence) {
  options.fence = fence.hooks();
  return options;
}

// A controller refuses longer ones, and all of the announcement with them.
template <typename Row>
void bound_reason(Row& row) {
  constexpr size_t kMaxReasonBytes = 400;
  if (row.reason().size() > kMaxReasonBytes) {
    row.set_reason(in_quotes(row.reason(), kMaxReasonBytes));
  }
}
template <typename Body>
void bound_reasons(Body& body) {
  bound_reason(body);
  for (v1::CachedKind& row : *body.mutable_caches()) bound_reason(row);
}

}  // namespace

NodeService::NodeService(const asio::any_io_executor& loop, const Clock& clock, NodeOptions options,
                         HeldIdentity held)
    : clock_(clock),
      options_(std::move(options)),
      started_(clock.wall_now()),
      fence_(options_.epoch_file, options_.epoch),
      link_(loop, clock, {.servers = options_.servers, .pick = fenced(options_.pick, fence_)},
            share(std::move(held))),
      announcer_(options_.announcer, options_.seed),
      keeper_(options_.keeper, options_.seed),
      timer_(loop),
      taking_(loop),
      tasks_(loop) {
  const Role role = identity().who.role;
  HF_CHECK(role == Role::Agent || role == Role::Proxy, "a node is an agent or a proxy");
}

void NodeService::start() {
  const HeldIdentity& held = identity();
  log::info("node starts", {{"node", identity::to_string(held.who)},
                            {"cluster", held.who.cluster},
                            {"expires", to_rfc3339(held.validity.not_after)}});
  keeper_.hold(held.validity, held.validity.not_before);
  announcer_.start(clock_.now());
  if (held.validity.not_after <= clock_.wall_now()) link_.pause();
  link_.start();
  tasks_.spawn(run());
  tasks_.spawn(follow_link());
}

asio::awaitable<void> NodeService::stop() {
  stopping_ = true;
  wake();
  taking_.cancel();
  co_await tasks_.join();
  if (stats_.announced > 0 && !keeper_.expired()) co_await say_goodbye();
  co_await link_.stop();
}

asio::awaitable<void> NodeService::say_goodbye() {
  v1::GoodbyeRequest request;
  request.set_kind(std::string(identity::to_string(identity().who.role)));
  request.set_name(identity().who.name);
  *request.mutable_started() = resource::to_proto(started_);
  const Status said = co_await link_.goodbye(std::move(request), options_.goodbye_timeout);
  if (said.ok()) {
    log::info("said goodbye");
  } else {
    log::warn("cannot say goodbye; the node will be shown as offline", {{"why", why(said)}});
  }
}

asio::awaitable<void> NodeService::run() {
  while (!stopping_) {
    step();
    timer_.expires_after(until_next());
    co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable));
  }
}

// What another identity carries is announced anew, and after an outage nobody waits for a backoff:
// the link has waited for one already, and each node for another.
asio::awaitable<void> NodeService::follow_link() {
  uint64_t connection = 0;
  SharedIdentity announced = link_.in_use();
  while (!stopping_) {
    co_await link_.pick().moved(connection);
    const rpc::Pinned picked = link_.pick().picked();
    if (stopping_ || !picked) continue;
    connection = picked->id;
    const SharedIdentity before = std::exchange(announced, link_.in_use());
    if (keeper_.expired()) continue;
    if (announcer_.failures() > 0) announcer_.start(clock_.now());
    if (announced != before) announcer_.content_changed(clock_.now());
    wake();
  }
}

void NodeService::content_changed() {
  announcer_.content_changed(clock_.now());
  wake();
}

asio::awaitable<bool> NodeService::announce_within(Duration timeout) {
  const health::Announcer::Attempt before = sent_;
  const Time deadline = clock_.now() + timeout;
  if (announcer_.failures() > 0) announcer_.start(clock_.now());
  content_changed();
  while (taken_ <= before && clock_.now() < deadline && !stopping_) {
    taking_.expires_after(deadline - clock_.now());
    co_await taking_.async_wait(asio::as_tuple(asio::use_awaitable));
  }
  co_return taken_ > before;
}

void NodeService::step() {
  const IdentityKeeper::Action action = keeper_.on_tick(clock_.wall_now());
  if (action == IdentityKeeper::Action::Expired) on_expired();
  if (keeper_.expired()) return look_for_identity();
  if (action == IdentityKeeper::Action::Renew) tasks_.spawn(renew());
  const health::Announcer::Action due = announcer_.on_tick(clock_.now());
  take_report(due);
  if (!due.announce) return;
  sent_ = *due.announce;
  tasks_.spawn(announce(sent_));
}

// The calendar may jump: it is looked at again and again.
Duration NodeService::until_next() const {
  Duration wait = options_.look_again;
  if (keeper_.expired()) return std::min(wait, look_at_ - clock_.now());
  if (const auto due = announcer_.next_deadline()) wait = std::min(wait, *due - clock_.now());
  if (const auto due = keeper_.next_deadline()) {
    wait = std::min<Duration>(wait, *due - clock_.wall_now());
  }
  return std::max(wait, Duration::zero());
}

v1::AnnounceRequest NodeService::announcement(const HeldIdentity& held) const {
  const bool is_proxy = held.who.role == Role::Proxy;
  v1::AnnounceRequest request;
  *request.mutable_resource() = resource::make_resource(
      is_proxy ? resource::Kind::Proxy : resource::Kind::Agent, held.who.name);
  const auto describe = [&](auto& body) {
    body.set_zone(held.who.zone);
    body.set_version(options_.version);
    *body.mutable_started() = resource::to_proto(started_);
    if (options_.describe) options_.describe(*request.mutable_resource());
    bound_reasons(body);
  };
  if (is_proxy) {
    describe(*request.mutable_resource()->mutable_proxy());
  } else {
    describe(*request.mutable_resource()->mutable_agent());
  }
  for (const std::string& pin : held.trusted_pins) request.add_trusted_pins(pin);
  request.set_issuer_pin(held.issuer_pin);
  return request;
}

asio::awaitable<void> NodeService::announce(health::Announcer::Attempt attempt) {
  const Result<LinkService::Announced> announced =
      co_await link_.announce([this](const HeldIdentity& held) { return announcement(held); },
                              options_.announcer.write_timeout);
  if (stopping_) co_return;
  const Time now = clock_.now();
  if (announced.ok()) {
    taken_ = std::max(taken_, attempt);
    taking_.cancel();
    const Duration next_in = resource::to_duration(announced->response.next_in());
    take_report(announcer_.delivered(attempt, next_in, now));
    obey(*announced);
  } else {
    take_report(announcer_.failed(attempt, announced.status(), now));
  }
  wake();
}

void NodeService::take_report(const health::Announcer::Action& action) {
  if (!action.report) return;
  const bool delivered = action.report->ok();
  (delivered ? stats_.announced : stats_.failed_announcements) += 1;
  if (delivered && !present_) log::info("announced", {{"server", link_.server()}});
  if (!delivered && announcer_.failures() == 1) {
    log::warn("cannot announce; trying again", {{"why", why(*action.report)}});
  }
  present_ = delivered;
  keeper_.set_present(delivered);
}

void NodeService::obey(const LinkService::Announced& announced) {
  const v1::AnnounceResponse& response = announced.response;
  // What was said of a certificate that is no longer the newest is out of date.
  const bool newest = announced.held == link_.newest();
  if (response.renew_certificate() && newest) keeper_.told_to_renew(clock_.wall_now());
  if (!response.ca_pem().empty()) take_bundle(response.ca_pem());
}

void NodeService::take_bundle(const std::string& ca_pem) {
  Result<HeldIdentity> held = with_bundle(identity(), ca_pem);
  const Status saved = held.ok() ? save_bundle(options_.folder, *held) : held.status();
  if (!saved.ok()) {
    return log::error("cannot trust what the controller says to trust", {{"why", why(saved)}});
  }
  // One that has run out is of no use with it; the next one comes with a bundle of its own.
  if (held->trusted_pins == identity().trusted_pins || keeper_.expired()) return;
  adopt(*std::move(held));
}

void NodeService::adopt(HeldIdentity held) {
  if (held.trusted_pins != identity().trusted_pins) {
    stats_.new_bundles += 1;
    log::info("the cluster's authorities have changed",
              {{"trusted", fmt::format("{}", fmt::join(held.trusted_pins, ","))}});
  }
  link_.use(share(std::move(held)));
}

asio::awaitable<void> NodeService::renew() {
  const Status renewed = co_await try_renew();
  if (stopping_) co_return;
  if (renewed.ok()) {
    stats_.renewed += 1;
    log::info("certificate renewed", {{"expires", to_rfc3339(identity().validity.not_after)}});
    keeper_.hold(identity().validity, clock_.wall_now());
  } else {
    stats_.failed_renewals += 1;
    keeper_.failed(clock_.wall_now());
    if (keeper_.failures() == 1) {
      log::warn("cannot renew the certificate; trying again",
                {{"why", why(renewed)}, {"expires", to_rfc3339(keeper_.expires())}});
    }
    // The entry is gone, perhaps deleted by someone: an announcement makes it anew.
    if (split_reason(renewed).code == "HF5016") {
      keeper_.set_present(false);
      announcer_.content_changed(clock_.now());
    }
  }
  wake();
}

// With a new key each time. On disk before it is used: what a controller has seen of a node is what
// the node comes back with.
asio::awaitable<Status> NodeService::try_renew() {
  IdentityPems pems;
  CO_TRY(pems.private_key, identity::make_private_key());
  v1::RenewRequest request;
  CO_TRY(*request.mutable_request_pem(), identity::make_request(pems.private_key));
  CO_TRY(const std::vector<std::string> hosts, identity::hosts_of(identity().certificate_pem));
  request.mutable_hosts()->Assign(hosts.begin(), hosts.end());
  CO_TRY(const v1::Credentials made,
         co_await link_.renew(std::move(request), options_.renew_timeout));
  pems.certificate = made.certificate_pem();
  pems.ca = made.ca_pem();
  CO_TRY(HeldIdentity held, with_certificate(identity(), pems));
  CO_TRY_OK(save_identity(options_.folder, held));
  adopt(std::move(held));
  co_return absl::OkStatus();
}

void NodeService::on_expired() {
  present_ = false;
  keeper_.set_present(false);
  look_at_ = clock_.now() + options_.look_again;
  link_.pause();  // controllers put every refusal in their audit
  log::error("the certificate has run out; join again: holdfast join --replace",
             {{"code", "HF5003"}, {"expired", to_rfc3339(keeper_.expires())}});
}

void NodeService::look_for_identity() {
  if (clock_.now() < look_at_) return;
  look_at_ = clock_.now() + options_.look_again;
  Result<LoadedNode> loaded = load_node(options_.folder);
  if (!loaded.ok() || loaded->held.who.role != identity().who.role) return;
  if (loaded->held.validity.not_after <= clock_.wall_now()) return;
  log::info("found a new identity", {{"node", identity::to_string(loaded->held.who)}});
  keeper_.hold(loaded->held.validity, loaded->held.validity.not_before);
  link_.replace(share(std::move(loaded->held)));
  announcer_.start(clock_.now());
}

}  // namespace holdfast::node
