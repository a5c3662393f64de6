#include "api/load_codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/bytes.h"
#include "base/reason.h"
#include "resource/proto_time.h"
#include "resource/text_rules.h"

namespace holdfast::api {
namespace {

// No connection count of this world; sums of them stay within 64 bits.
constexpr uint64_t kMostConnections = uint64_t{1} << 48;
// More is the same to whoever deals.
constexpr Duration kLongestAnswer = std::chrono::minutes(1);

Status wrong(std::string_view what) {
  return coded(absl::StatusCode::kInvalidArgument, "HF2401", what);
}

Status check_load_name(std::string_view what, std::string_view name) {
  const std::optional<std::string> reason = resource::wrong_name(name);
  return reason ? wrong(fmt::format("{} {}: {}", what, in_quotes(name, 64), *reason))
                : absl::OkStatus();
}

route::FailedCounts read_failed(const v1::FailedConnections& failed) {
  return {.refused = failed.refused(),
          .timed_out = failed.timed_out(),
          .reset = failed.reset(),
          .gave_up = failed.gave_up(),
          .cut = failed.cut()};
}

bool is_believable(const route::PoolReport& pool) {
  const route::FailedCounts& failed = pool.failed;
  const uint64_t counts[] = {pool.active,      pool.opened,  pool.closed,    failed.refused,
                             failed.timed_out, failed.reset, failed.gave_up, failed.cut,
                             pool.turned_away, pool.waiting};
  return std::ranges::all_of(counts, [](uint64_t count) { return count <= kMostConnections; }) &&
         (pool.limit == route::kNoLimit || pool.limit <= kMostConnections);
}

Result<route::PoolReport> read_pool(const v1::PoolReport& said) {
  TRY_OK(check_load_name("service", said.service()));
  // Nodes may be in no zone at all.
  if (!said.zone().empty()) TRY_OK(check_load_name("zone", said.zone()));
  route::PoolReport pool{.pool = {.service = said.service(), .zone = said.zone()},
                         .active = said.active(),
                         .opened = said.opened(),
                         .closed = said.closed(),
                         .failed = read_failed(said.failed()),
                         .turned_away = said.turned_away(),
                         .limit = said.has_limit() ? said.limit() : route::kNoLimit,
                         .leased = said.leased(),
                         .waiting = said.waiting()};
  if (!is_believable(pool)) {
    return wrong(fmt::format("the counts of {} in {} cannot be", said.service(), said.zone()));
  }
  return pool;
}

uint64_t total(const route::FailedCounts& failed) {
  return failed.refused + failed.timed_out + failed.reset + failed.gave_up + failed.cut;
}

v1::HolderStatus status_of(const route::Dealer::HolderRow& row) {
  v1::HolderStatus status;
  status.set_holder(row.holder);
  status.set_zone(row.zone);
  *status.mutable_heard_ago() = resource::to_proto(row.heard_ago);
  status.set_leased(row.leased);
  *status.mutable_report() = to_proto(row.report);
  return status;
}

}  // namespace

Status check_holder(std::string_view holder, std::string_view zone) {
  const size_t slash = holder.find('/');
  const std::string_view role = holder.substr(0, slash);
  if (slash == std::string_view::npos || (role != "proxy" && role != "agent")) {
    return wrong("holder: write proxy/NAME or agent/NAME");
  }
  TRY_OK(check_load_name("holder", holder.substr(slash + 1)));
  return zone.empty() ? absl::OkStatus() : check_load_name("zone", zone);
}

Result<route::LoadReport> read_report(const v1::LoadReport& said) {
  if (said.number() == 0 || said.boot() == 0) return wrong("a report has a number and a boot");
  if (static_cast<size_t>(said.pools_size()) > kMostPoolsOfAReport) {
    return coded(
        absl::StatusCode::kResourceExhausted, "HF2402",
        fmt::format("{} pools in one report; at most {}", said.pools_size(), kMostPoolsOfAReport));
  }
  const Duration answered_in = resource::to_duration(said.answered_in());
  route::LoadReport report{
      .boot = said.boot(),
      .number = said.number(),
      .grant = said.grant(),
      .answered_in = std::clamp<Duration>(answered_in, Duration::zero(), kLongestAnswer)};
  report.pools.reserve(said.pools_size());
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (const v1::PoolReport& each : said.pools()) {
    if (!seen.emplace(each.service(), each.zone()).second) {
      return wrong(fmt::format("{} in {} is reported twice", in_quotes(each.service(), 64),
                               in_quotes(each.zone(), 64)));
    }
    TRY(route::PoolReport pool, read_pool(each));
    report.pools.push_back(std::move(pool));
  }
  return report;
}

v1::LoadGrant to_proto(const route::LoadGrant& grant) {
  v1::LoadGrant out;
  out.set_number(grant.number);
  out.set_report(grant.report);
  *out.mutable_ttl() = resource::to_proto(grant.ttl);
  *out.mutable_report_every() = resource::to_proto(grant.report_every);
  for (const route::PoolGrant& each : grant.pools) {
    v1::PoolGrant& pool = *out.add_pools();
    pool.set_service(each.pool.service);
    pool.set_zone(each.pool.zone);
    if (each.limit != route::kNoLimit) pool.set_limit(each.limit);
    pool.set_fixed(each.fixed);
    pool.set_scarce(each.scarce);
  }
  return out;
}

v1::PoolReport to_proto(const route::PoolReport& report) {
  v1::PoolReport out;
  out.set_service(report.pool.service);
  out.set_zone(report.pool.zone);
  out.set_active(report.active);
  out.set_opened(report.opened);
  out.set_closed(report.closed);
  out.mutable_failed()->set_refused(report.failed.refused);
  out.mutable_failed()->set_timed_out(report.failed.timed_out);
  out.mutable_failed()->set_reset(report.failed.reset);
  out.mutable_failed()->set_gave_up(report.failed.gave_up);
  out.mutable_failed()->set_cut(report.failed.cut);
  out.set_turned_away(report.turned_away);
  if (report.limit != route::kNoLimit) out.set_limit(report.limit);
  out.set_leased(report.leased);
  return out;
}

v1::PoolStatus to_proto(const route::Dealer::PoolRow& row, bool with_holders) {
  v1::PoolStatus out;
  out.set_service(row.pool.service);
  out.set_zone(row.pool.zone);
  if (row.capacity != route::kNoLimit) out.set_capacity(row.capacity);
  out.set_active(row.active);
  out.set_leased(row.leased);
  out.set_charged(row.charged);
  out.set_opened(row.totals.opened);
  out.set_failed(total(row.totals.failed));
  out.set_turned_away(row.totals.turned_away);
  out.set_holder_count(static_cast<uint32_t>(row.holders.size()));
  Duration oldest{};
  for (const route::Dealer::HolderRow& holder : row.holders) {
    oldest = std::max(oldest, holder.heard_ago);
    if (with_holders) *out.add_holders() = status_of(holder);
  }
  if (!row.holders.empty()) *out.mutable_oldest() = resource::to_proto(oldest);
  return out;
}

}  // namespace holdfast::api
