#include "app/node.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "app/node_metrics.h"
#include "base/log.h"
#include "identity/identity.h"
#include "resource/proto_time.h"

namespace holdfast::app {
namespace {

using resource::Kind;

constexpr Duration kTick = std::chrono::seconds(1);
// Long enough for a controller that is there, short enough for a machine that starts without one.
constexpr Duration kFirstWait = std::chrono::seconds(5);
// Between tries to follow a controller; the first comes within a sixteenth of it. Short, because a
// stream that goes on from where the last one ended costs a controller next to nothing.
constexpr Duration kLongestWait = std::chrono::seconds(16);
constexpr Duration kMostReconnectInterval = std::chrono::hours(24 * 365);

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

cache::CacheServiceOptions cache_options(const NodeAppOptions& options,
                                         const identity::Identity& who) {
  cache::CacheServiceOptions made{.cache = {.kinds = cached_kinds(who.role)},
                                  .first_wait = kFirstWait};
  made.cache.seed = options.node.seed;
  made.cache.max_backoff = kLongestWait;
  made.copy.folder = options.data_dir;
  made.copy.owner = {
      .schema = options.node.version, .cluster = who.cluster, .node = identity::to_string(who)};
  return made;
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

Node::Node(const asio::any_io_executor& loop, const Clock& clock, NodeAppOptions options,
           node::HeldIdentity held)
    : least_reconnect_interval_(options.least_reconnect_interval),
      registry_({.version = options.node.version}),
      node_(loop, clock, with_caches(options.node), held),
      upstream_(node_.pick()),
      cache_(loop, clock, upstream_, registry_, cache_options(options, held.who)),
      view_(cache_.published()),
      fronts_(loop, {.clock = clock, .registry = registry_, .fan_out = cache_.fan_out()}, reads(),
              {.node = identity::to_string(held.who),
               .socket_file = options.data_dir + "/node.sock",
               .listen = options.listen}),
      tasks_(loop) {
  cache_.on_wake([this](const std::vector<events::WatcherId>& ids) { fronts_.wake(ids); });
  cache_.on_change([this] {
    report();
    node_.caches_changed();
  });
}

// Asked for by start() and later: everything is built by then.
node::NodeOptions Node::with_caches(node::NodeOptions options) {
  options.caches = [this] { return cache_.describe(); };
  return options;
}

NodeReads Node::reads() {
  NodeReads reads;
  reads.get = [this](v1::GetRequest asked) -> asio::awaitable<Result<web::Sourced<v1::Resource>>> {
    CO_TRY(cache::Read<v1::Resource> found, co_await cache_.read(std::move(asked)));
    co_return sourced(std::move(found));
  };
  reads.list =
      [this](v1::ListRequest asked) -> asio::awaitable<Result<web::Sourced<v1::ListResponse>>> {
    CO_TRY(cache::Read<v1::ListResponse> page, co_await cache_.read(std::move(asked)));
    co_return sourced(std::move(page));
  };
  reads.caches = [this] { return cache_.describe(); };
  return reads;
}

asio::awaitable<void> Node::start() {
  node_.start();
  tasks_.spawn(tick());
  co_await cache_.start();
}

// Fronts first, so that nobody asks what has stopped; the goodbye after the cache's last words.
asio::awaitable<void> Node::stop() {
  co_await fronts_.stop();
  co_await cache_.stop();
  co_await tasks_.join();
  co_await node_.stop();
}

// One line for each change that someone at night would ask about.
void Node::log_link() {
  const rpc::PickHealthyService& link = node_.pick();
  const rpc::Pinned picked = link.picked();
  const uint64_t connection = picked ? picked->id : 0;
  if (std::exchange(logged_connection_, connection) == connection) return;
  if (picked) {
    log::info(
        "connected to a controller",
        {{"address", picked->address}, {"outage", to_short_string(link.stats().last_recovery)}});
  } else {
    log::warn("no controller is connected; the cache answers",
              {{"code", "HF1301"}, {"why", link.last_failure()}});
  }
}

void Node::log_cache() {
  std::map<std::string, int> kinds;
  std::string why;
  for (const v1::CachedKind& kind : cache_.describe()) {
    ++kinds[kind.source()];
    if (why.empty() && !kind.code().empty())
      why = fmt::format("{}: {}", kind.code(), kind.reason());
  }
  std::string summary;
  for (const auto& [source, count] : kinds) summary += fmt::format("{} {} ", count, source);
  if (!summary.empty()) summary.pop_back();
  if (std::exchange(logged_cache_, summary) == summary) return;
  log::info("reads are answered by", {{"kinds", summary}, {"why", why}});
}

void Node::report() {
  log_cache();
  fronts_.report(cache_.describe(), node_.pick().picked() != nullptr);
}

// While nobody knows what the settings are, they stay as they were.
void Node::follow_settings() {
  const auto settings = view_.read<Kind::NetworkingConfig>();
  if (!settings) return;
  const auto found = settings.find("default");
  const Duration asked =
      found ? resource::to_duration(found->body.reconnect_interval()) : Duration::zero();
  const bool wanted = asked > Duration::zero();
  node_.pick().set_reconnect_interval(
      wanted ? std::clamp(asked, least_reconnect_interval_, kMostReconnectInterval)
             : Duration::zero());
}

// What only time or the link changes; and a second is soon enough for settings.
asio::awaitable<void> Node::tick() {
  for (;;) {
    report();
    log_link();
    follow_settings();
    update_node_metrics(registry_, node_);
    cache_.update_metrics();
    const bool slept = co_await net::pause(kTick);
    if (!slept) co_return;
  }
}

}  // namespace holdfast::app
