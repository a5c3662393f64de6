#include "api/load_service.h"

#include <fmt/format.h>

#include <utility>

#include "api/load_codec.h"
#include "api/resource_service.h"
#include "base/reason.h"
#include "resource/proto_time.h"
#include "resource/registry.h"
#include "route/capacity.h"

namespace holdfast::api {
namespace {

using identity::Role;

Status too_often(std::string_view who) {
  return coded(absl::StatusCode::kResourceExhausted, "HF2403",
               fmt::format("{} asks too often about load", who));
}

}  // namespace

LoadService::LoadService(Parts parts, LoadServiceOptions options)
    : parts_(std::move(parts)),
      options_(std::move(options)),
      report_rate_(options_.reports),
      question_rate_(options_.questions) {}

void LoadService::on_reset(const std::vector<store::Item>& items) {
  services_.clear();
  changed_ = true;
  for (const store::Item& item : items) {
    const Result<v1::Resource> service = decode_item(item);
    if (service.ok()) take(*service);
  }
}

void LoadService::on_change(const store::Change& change) {
  const std::optional<resource::StoreKey> key = resource::parse_store_key(change.item.key);
  if (!key) return;
  changed_ = true;
  if (change.type == store::Change::Type::Delete) {
    services_.erase(key->name);
    return;
  }
  const Result<v1::Resource> service = decode_item(change.item);
  if (service.ok()) take(*service);
}

void LoadService::take(const v1::Resource& service) {
  Known known{.capacity = route::capacity_of(service.service()),
              .when_full = service.service().when_full()};
  *known.labelled.mutable_metadata()->mutable_labels() = service.metadata().labels();
  services_.insert_or_assign(service.metadata().name(), std::move(known));
}

void LoadService::on_tick() {
  if (follow_tenure()) dealer_->on_tick(parts_.clock.now());
}

// Whoever dealt before gave leases that this one knows nothing of: it begins as one that starts.
bool LoadService::follow_tenure() {
  const bool deals = parts_.deals();
  if (!deals) dealer_.reset();
  if (deals && !dealer_) {
    deals_since_ = parts_.clock.now();
    dealer_.emplace(options_.dealer, deals_since_);
    changed_ = true;
  }
  if (deals && std::exchange(changed_, false)) tell_dealer();
  return deals;
}

void LoadService::tell_dealer() {
  std::map<std::string, route::Capacity, std::less<>> capacities;
  for (const auto& [name, known] : services_) {
    capacities.emplace_hint(capacities.end(), name, known.capacity);
  }
  dealer_->set_services(capacities);
}

// A holder speaks for itself only: what it says of its name and zone is not read.
Status LoadService::name_holder(const Caller& caller, v1::LoadReport& request) {
  const identity::Identity& who = caller.identity;
  if (who.role == Role::Controller || who.role == Role::Local) {
    return check_holder(request.holder(), request.zone());
  }
  request.set_holder(identity::to_string(who));
  request.set_zone(who.zone);
  return absl::OkStatus();
}

Result<v1::LoadGrant> LoadService::deal(const v1::LoadReport& request) {
  TRY(route::LoadReport report, read_report(request));
  report.holder = request.holder();
  report.zone = request.zone();
  const uint64_t refused = dealer_->refused_holders();
  const route::LoadGrant grant = dealer_->on_report(report, parts_.clock.now());
  if (dealer_->refused_holders() != refused) {
    return coded(absl::StatusCode::kResourceExhausted, "HF2405",
                 "there are too many who share capacities");
  }
  // Another of the same holder has overtaken it.
  if (grant.number == 0) {
    return coded(absl::StatusCode::kAborted, "HF2406", "a later report of this holder came first");
  }
  return to_proto(grant);
}

asio::awaitable<Result<v1::LoadGrant>> LoadService::report(Caller caller, v1::LoadReport request) {
  CO_TRY_OK(name_holder(caller, request));
  if (!report_rate_.admit(request.holder(), parts_.clock.now())) {
    stats_.over_rate += 1;
    co_return too_often(request.holder());
  }
  if (follow_tenure()) {
    const Status may = parts_.may_deal();
    Result<v1::LoadGrant> grant = may.ok() ? deal(request) : Result<v1::LoadGrant>(may);
    grant.ok() ? stats_.reports += 1 : stats_.refused += 1;
    co_return grant;
  }
  // Passed on once: two controllers that take each other for the one that deals end here.
  if (caller.identity.role == Role::Controller) {
    co_return coded(absl::StatusCode::kFailedPrecondition, "HF2404",
                    "this controller does not deal");
  }
  Result<v1::LoadGrant> grant = co_await parts_.pass_report(std::move(request));
  grant.ok() ? stats_.passed_on += 1 : stats_.not_passed_on += 1;
  co_return grant;
}

asio::awaitable<Result<v1::GetLoadResponse>> LoadService::get_load(Caller caller,
                                                                   v1::GetLoadRequest request) {
  CO_TRY(const identity::Grant grant,
         parts_.gate.allow(caller, v1::VERB_LIST, resource::Kind::Service, ""));
  const bool passes_on = caller.identity.role == Role::Controller;
  const std::string who = identity::to_string(caller.identity);
  if (!passes_on && !question_rate_.admit(who, parts_.clock.now())) co_return too_often(who);
  if (follow_tenure()) {
    CO_TRY_OK(parts_.may_deal());
    v1::GetLoadResponse response = answer(request);
    narrow(grant, response);
    co_return response;
  }
  if (passes_on) {
    co_return coded(absl::StatusCode::kFailedPrecondition, "HF2404",
                    "this controller does not deal");
  }
  CO_TRY(v1::GetLoadResponse response, co_await parts_.pass_question(std::move(request)));
  narrow(grant, response);
  co_return response;
}

v1::GetLoadResponse LoadService::answer(const v1::GetLoadRequest& request) {
  const Time now = parts_.clock.now();
  v1::GetLoadResponse response;
  *response.mutable_now() = resource::to_proto(parts_.clock.wall_now());
  response.set_controller(options_.controller_name);
  response.set_warming_up(now < deals_since_ + options_.dealer.warm_up);
  response.set_refused_holders(dealer_->refused_holders());
  response.set_refused_pools(dealer_->refused_pools());
  size_t holders = 0;
  for (const route::Dealer::PoolRow& row : dealer_->rows(now)) {
    if (!request.service().empty() && row.pool.service != request.service()) continue;
    holders += request.with_holders() ? row.holders.size() : 0;
    const size_t pools = static_cast<size_t>(response.pools_size());
    if (pools >= options_.max_pools || holders > options_.max_holders) {
      response.set_left_out(response.left_out() + 1);
      continue;
    }
    v1::PoolStatus& pool = *response.add_pools() = to_proto(row, request.with_holders());
    const auto known = services_.find(row.pool.service);
    if (known != services_.end()) pool.set_when_full(known->second.when_full);
  }
  return response;
}

// Services that are gone have no labels: only who may list all sees what is left of them.
void LoadService::narrow(const identity::Grant& grant, v1::GetLoadResponse& response) const {
  if (grant.only_services.empty()) return;
  auto& pools = *response.mutable_pools();
  const auto hidden = [&](const v1::PoolStatus& pool) {
    const auto known = services_.find(pool.service());
    return known == services_.end() || !identity::covers(grant, known->second.labelled);
  };
  pools.erase(std::remove_if(pools.begin(), pools.end(), hidden), pools.end());
}

}  // namespace holdfast::api
