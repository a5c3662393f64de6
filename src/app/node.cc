#include "app/node.h"

#include <utility>

#include "app/node_metrics.h"
#include "base/check.h"
#include "identity/identity.h"

namespace holdfast::app {
namespace {

using resource::Kind;

constexpr Duration kTick = std::chrono::seconds(1);

std::string_view word(cache::Source source) {
  switch (source) {
    case cache::Source::Upstream:
      return "upstream";
    case cache::Source::Cache:
      return "cache";
    case cache::Source::Stale:
      return "stale";
  }
  return "";
}

template <typename T>
web::Sourced<T> sourced(cache::Read<T> read) {
  web::Sourced<T> answer{.value = std::move(read.value), .source = word(read.source)};
  if (read.source == cache::Source::Stale) answer.stale_for = read.age;
  return answer;
}

}  // namespace

std::vector<cache::KindPolicy> cached_kinds(identity::Role role) {
  std::vector<Kind> kinds = {Kind::Controller,       Kind::Proxy,   Kind::Service,
                             Kind::NetworkingConfig, Kind::ZoneMap, Kind::CapacityLease,
                             Kind::CertAuthority};
  if (role == identity::Role::Proxy) {
    kinds.insert(kinds.end(), {Kind::Agent, Kind::Role, Kind::User});
  }
  std::vector<cache::KindPolicy> policies;
  for (const Kind kind : kinds) policies.push_back({.kind = kind});
  return policies;
}

}  // namespace holdfast::app
