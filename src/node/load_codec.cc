#include "node/load_codec.h"

#include "resource/proto_time.h"

namespace holdfast::node {
namespace {

v1::PoolReport to_proto(const route::PoolReport& report) {
  v1::PoolReport out;
  out.set_service(report.pool.service);
  out.set_zone(report.pool.zone);
  out.set_active(report.active);
  out.set_opened(report.opened);
  out.set_closed(report.closed);
  v1::FailedConnections& failed = *out.mutable_failed();
  failed.set_refused(report.failed.refused);
  failed.set_timed_out(report.failed.timed_out);
  failed.set_reset(report.failed.reset);
  failed.set_gave_up(report.failed.gave_up);
  failed.set_cut(report.failed.cut);
  out.set_turned_away(report.turned_away);
  if (report.limit != route::kNoLimit) out.set_limit(report.limit);
  out.set_leased(report.leased);
  out.set_waiting(report.waiting);
  return out;
}

}  // namespace

v1::LoadReport to_proto(const route::LoadReport& report) {
  v1::LoadReport out;
  out.set_boot(report.boot);
  out.set_number(report.number);
  out.set_grant(report.grant);
  *out.mutable_answered_in() = resource::to_proto(report.answered_in);
  for (const route::PoolReport& pool : report.pools) *out.add_pools() = to_proto(pool);
  return out;
}

route::LoadGrant from_proto(const v1::LoadGrant& grant) {
  route::LoadGrant out{.number = grant.number(),
                       .report = grant.report(),
                       .ttl = resource::to_duration(grant.ttl()),
                       .report_every = resource::to_duration(grant.report_every())};
  for (const v1::PoolGrant& pool : grant.pools()) {
    out.pools.push_back({.pool = {.service = pool.service(), .zone = pool.zone()},
                         .limit = pool.has_limit() ? pool.limit() : route::kNoLimit,
                         .fixed = pool.fixed(),
                         .scarce = pool.scarce()});
  }
  return out;
}

}  // namespace holdfast::node
