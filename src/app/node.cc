#include "app/node.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "app/node_calls.h"
#include "app/node_metrics.h"
#include "base/log.h"
#include "base/reason.h"
#include "identity/identity.h"
#include "resource/proto_time.h"

namespace holdfast::app {
namespace {

using resource::Kind;

constexpr Duration kNodeTick = std::chrono::seconds(1);
// Long enough for a controller that is there, short enough for a machine that starts without one.
constexpr Duration kFirstWait = std::chrono::seconds(5);
// Between tries to follow a controller; the first comes within a sixteenth of it. Short, because a
// stream that goes on from where the last one ended costs a controller next to nothing.
constexpr Duration kLongestWait = std::chrono::seconds(16);
// How soon a part knows of what the cache has.
constexpr Duration kFeedPart = std::chrono::milliseconds(200);
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
  cache::CacheServiceOptions made{.cache = {.kinds = cached_kinds(who.role, options.max_staleness)},
                                  .first_wait = kFirstWait};
  made.cache.seed = options.node.seed;
  made.cache.max_backoff = kLongestWait;
  made.copy.folder = options.data_dir;
  made.copy.owner = {
      .schema = options.node.version, .cluster = who.cluster, .node = identity::to_string(who)};
  return made;
}

Result<std::unique_ptr<WitnessPart>> open_witness(const asio::any_io_executor& loop,
                                                  const Clock& clock,
                                                  const NodeAppOptions& options) {
  if (options.witness_listen.empty()) return nullptr;
  return WitnessPart::open(loop, clock,
                           {.listen = options.witness_listen, .data_dir = options.data_dir});
}

}  // namespace

std::vector<cache::KindPolicy> cached_kinds(identity::Role role, Duration max_staleness) {
  std::vector<Kind> kinds = {Kind::Controller,       Kind::Proxy,   Kind::Service,
                             Kind::NetworkingConfig, Kind::ZoneMap, Kind::CapacityLease,
                             Kind::CertAuthority};
  if (role == identity::Role::Proxy) {
    kinds.insert(kinds.end(), {Kind::Agent, Kind::Role, Kind::User});
  }
  std::vector<cache::KindPolicy> policies;
  for (const Kind kind : kinds) {
    policies.push_back({.kind = kind, .max_staleness = max_staleness});
  }
  return policies;
}

Node::Node(const asio::any_io_executor& loop, const Clock& clock, NodeAppOptions options,
           node::HeldIdentity held)
    : least_reconnect_interval_(options.least_reconnect_interval),
      registry_({.version = options.node.version, .max_series = options.max_series}),
      node_(loop, clock, with_description(options.node), held),
      upstream_(node_.pick()),
      cache_(loop, clock, upstream_, registry_, cache_options(options, held.who)),
      view_(cache_.published()),
      part_(options.make_part ? options.make_part(world(loop, clock)) : nullptr),
      witness_(open_witness(loop, clock, options)),
      part_certificate_(held.certificate_pem),
      part_trust_(held.ca_pem),
      fronts_(loop, {.clock = clock, .registry = registry_, .fan_out = cache_.fan_out()}, reads(),
              {.node = identity::to_string(held.who),
               .socket_file = options.data_dir + "/node.sock",
               .listen = options.listen}),
      tasks_(loop) {
  std::optional<node::LoadSource> load;
  if (part_.ok() && *part_) load = (*part_)->load_source();
  if (load) load_.emplace(loop, clock, node_.pick(), *std::move(load));
  cache_.on_wake([this](const std::vector<events::WatcherId>& ids) { fronts_.wake(ids); });
  cache_.on_change([this] {
    report();
    node_.content_changed();
  });
}

// Asked for by start() and later: everything is built by then.
node::NodeOptions Node::with_description(node::NodeOptions options) {
  options.describe = [this](v1::Resource& entry) { describe(entry); };
  return options;
}

void Node::describe(v1::Resource& entry) const {
  auto& caches = entry.has_proxy() ? *entry.mutable_proxy()->mutable_caches()
                                   : *entry.mutable_agent()->mutable_caches();
  for (v1::CachedKind& row : cache_.describe()) *caches.Add() = std::move(row);
  if (part_.ok() && *part_) (*part_)->describe(entry);
}

PartWorld Node::world(const asio::any_io_executor& loop, const Clock& clock) {
  return {.loop = loop,
          .clock = clock,
          .registry = registry_,
          .published = cache_.published(),
          .held = node_.identity(),
          .changed = [this] { node_.content_changed(); },
          .announce_within = [this](Duration timeout) { return node_.announce_within(timeout); },
          .load_due =
              [this] {
                if (load_) load_->wake();
              }};
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
  if (part_.ok() && *part_) {
    reads.node_call = [this](const net::HttpRequest& request) {
      return answer_node_call(**part_, request);
    };
  }
  return reads;
}

Result<std::vector<std::string>> Node::listen() {
  TRY_OK(part_.status());
  TRY_OK(witness_.status());
  TRY(std::vector<std::string> addresses, fronts_.listen());
  if (*witness_) {
    TRY(std::string record, (*witness_)->listen(node_.identity()));
    addresses.push_back(std::move(record));
  }
  if (!*part_) return addresses;
  TRY(const std::vector<std::string> more, (*part_)->listen());
  addresses.insert(addresses.end(), more.begin(), more.end());
  return addresses;
}

asio::awaitable<void> Node::stop_listening() {
  if (witness_.ok() && *witness_) co_await (*witness_)->stop();
  if (part_.ok() && *part_) co_await (*part_)->stop();
  co_await fronts_.stop();
}

asio::awaitable<void> Node::start() {
  node_.start();
  tasks_.spawn(tick());
  co_await cache_.start();
  if (!*part_) co_return;
  (*part_)->follow_cache();
  (*part_)->start();
  if (load_) load_->start();
  tasks_.spawn(feed_part());
}

// The part first: while it leaves, everything else still serves it. Then the fronts, so that nobody
// asks what has stopped; the goodbye after the cache's last words.
asio::awaitable<void> Node::stop() {
  if (*part_) co_await (*part_)->stop();
  if (load_) co_await load_->stop();
  if (*witness_) co_await (*witness_)->stop();
  co_await fronts_.stop();
  co_await cache_.stop();
  co_await tasks_.join();
  co_await node_.stop();
}

void Node::hurry() {
  if (*part_) (*part_)->hurry();
}

void Node::on_configuration(const Result<config::Loaded>& loaded) {
  Status status = loaded.status();
  if (status.ok() && *part_) status = (*part_)->set_config(loaded->config);
  if (status.ok()) {
    fronts_.report({.component = "configuration", .status = absl::OkStatus()});
    node_.content_changed();
    return;
  }
  log::error("the configuration is wrong; the old one stays",
             {{"code", "HF6001"}, {"why", std::string(status.message())}});
  fronts_.report({.component = "configuration",
                  .status = coded(absl::StatusCode::kFailedPrecondition, "HF6001",
                                  "the configuration is wrong; the old one runs"),
                  .is_warning = true});
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
  const node::FenceService& fence = node_.fence();
  if (fence.highest() > 0 || !fence.last().ok()) {
    fronts_.report({.component = "controllers", .status = fence.last(), .is_warning = true});
  }
  if (!part_.ok() || !*part_) return;
  for (const ComponentReport& one : (*part_)->reports()) fronts_.report(one);
}

void Node::follow_identity() {
  const node::HeldIdentity& held = node_.identity();
  if (held.certificate_pem == part_certificate_ && held.ca_pem == part_trust_) return;
  part_certificate_ = held.certificate_pem;
  part_trust_ = held.ca_pem;
  (*part_)->set_identity(held);
  if (*witness_) (*witness_)->set_identity(held);
}

asio::awaitable<void> Node::feed_part() {
  for (;;) {
    follow_identity();
    (*part_)->follow_cache();
    const bool slept = co_await net::pause(kFeedPart);
    if (!slept) co_return;
  }
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
    if (load_) update_load_metrics(registry_, load_->stats());
    if (part_.ok() && *part_) (*part_)->update_metrics();
    if (witness_.ok() && *witness_) {
      fronts_.report((*witness_)->report());
      (*witness_)->update_metrics(registry_);
    }
    cache_.update_metrics();
    const bool slept = co_await net::pause(kNodeTick);
    if (!slept) co_return;
  }
}

}  // namespace holdfast::app
