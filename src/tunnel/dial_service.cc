#include "tunnel/dial_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "base/reason.h"
#include "net/within.h"
#include "route/capacity.h"

namespace holdfast::tunnel {
namespace {

// So many are looked at for one in another zone.
constexpr size_t kMany = 64;

v1::OpenStream open_stream(const Wanted& wanted) {
  v1::OpenStream open;
  open.set_service(wanted.service);
  open.set_port(wanted.port);
  open.set_client(wanted.client);
  open.set_user(wanted.user);
  return open;
}

route::Labels selector_of(const v1::Service& service) {
  return {service.agent_selector().begin(), service.agent_selector().end()};
}

// How a try that came to nothing is counted.
route::Ended ended_by(const Status& refused) {
  switch (reset_code_of(refused)) {
    case ResetCode::Timeout:
      return route::Ended::TimedOut;
    case ResetCode::Broken:
      return route::Ended::Reset;
    case ResetCode::Cancelled:
      return route::Ended::GaveUp;
    default:
      return route::Ended::Refused;
  }
}

const v1::ServicePort* port_of(const v1::Service& service, const std::string& wanted) {
  if (service.ports().empty()) return nullptr;
  uint32_t number = 0;
  std::from_chars(wanted.data(), wanted.data() + wanted.size(), number);
  for (const v1::ServicePort& port : service.ports()) {
    if (port.name() == wanted || (number > 0 && port.port() == number)) return &port;
  }
  return &service.ports(0);
}

}  // namespace

AskedFor asked_for(const v1::Service& service, const Wanted& wanted) {
  const v1::ServicePort* port = port_of(service, wanted.port);
  const bool is_udp = port != nullptr && port->protocol() == v1::PROTOCOL_UDP;
  return {.service = wanted.service,
          .address = service.virtual_ip().empty() ? wanted.service : service.virtual_ip(),
          .port = port == nullptr ? 0 : port->port(),
          .protocol = is_udp ? "udp" : "tcp"};
}

struct DialService::Dialling {
  const Wanted& wanted;
  AskedFor asked{};
  route::Labels selector{};
  bool has_limits = false;
  Time deadline{};
  std::vector<Way> tried{};
  std::vector<std::string> refused_by{};  // agents whose applications refused: whatever the way
  std::vector<std::string> used_up{};     // zones whose agents were all tried
  std::string refusals{};
  route::Ended last = route::Ended::GaveUp;  // how the last try ended
};

asio::awaitable<Result<Reached>> DialService::dial(const v1::Service& service, const Wanted& wanted,
                                                   std::unique_ptr<StreamEnd>& end) {
  Dialling dialling{.wanted = wanted,
                    .asked = asked_for(service, wanted),
                    .selector = selector_of(service),
                    .has_limits = route::has_limits(service),
                    .deadline = shared_.parts.clock.now() + shared_.options.dial_timeout};
  auto made = std::make_unique<PlacedEnd>(std::move(end));
  PlacedEnd& placed = *made;
  std::unique_ptr<StreamEnd> given = std::move(made);
  Result<Reached> reached = co_await try_all(dialling, placed, given);
  if (reached.ok()) co_return reached;
  placed.place().give_back(dialling.last);
  end = placed.release();
  co_return reached;
}

// Asked for anew before each try: an agent that moves is elsewhere by then.
std::optional<DialService::Way> DialService::find_way(const Dialling& dialling,
                                                      const std::string* zone) {
  const std::string& service = dialling.wanted.service;
  const std::string* spent = zone == nullptr ? spent_zone(dialling) : nullptr;
  const size_t most =
      spent != nullptr ? kMany : shared_.options.dial_candidates + dialling.tried.size();
  std::vector<route::Choice> choices =
      zone == nullptr ? shared_.routes.choose(service, dialling.selector, most)
                      : shared_.routes.choose_in(*zone, service, dialling.selector, most);
  std::optional<Way> in_spent;
  for (route::Choice& choice : choices) {
    Way way{.choice = std::move(choice)};
    if (way.choice.via.empty()) way.tunnel = shared_.table.select(way.choice.agent);
    if (std::ranges::find(dialling.tried, way) != dialling.tried.end()) continue;
    const std::vector<std::string>& refused = dialling.refused_by;
    if (std::ranges::find(refused, way.choice.agent) != refused.end()) continue;
    if (spent == nullptr || way.choice.zone != *spent) return way;
    if (!in_spent) in_spent = std::move(way);
  }
  return in_spent;
}

const std::string* DialService::spent_zone(const Dialling& dialling) const {
  const std::vector<Way>& tried = dialling.tried;
  if (tried.empty() || tried.size() + 1 < shared_.options.dial_candidates) return nullptr;
  const std::string& zone = tried.front().choice.zone;
  const bool is_only =
      std::ranges::all_of(tried, [&](const Way& way) { return way.choice.zone == zone; });
  return is_only ? &zone : nullptr;
}

// With a place in the zone that it leads to.
asio::awaitable<Result<std::optional<DialService::Way>>> DialService::next_way(Dialling& dialling,
                                                                               PlacedEnd& placed) {
  HeldPlace& place = placed.place();
  if (!dialling.has_limits) {
    std::optional<Way> way = find_way(dialling, nullptr);
    if (way && (!place || place.zone() != way->choice.zone)) {
      place.give_back(dialling.last);
      place = uses_.places.take_in(dialling.asked, way->choice.zone);
    }
    co_return way;
  }
  const PlacesService::Zones zones = [&] {
    std::vector<std::string> found =
        shared_.routes.zones(dialling.wanted.service, dialling.selector);
    std::erase_if(found, [&](const std::string& zone) {
      return std::ranges::find(dialling.used_up, zone) != dialling.used_up.end();
    });
    return found;
  };
  for (;;) {
    if (!place) {
      CO_TRY(place, co_await uses_.places.take(dialling.asked, zones, dialling.deadline));
    }
    if (!place) co_return std::nullopt;
    const std::string* spent = spent_zone(dialling);
    if (spent != nullptr && *spent == place.zone() && zones().size() > 1) {
      dialling.used_up.push_back(place.zone());
      place.give_back(dialling.last);
      continue;
    }
    std::optional<Way> way = find_way(dialling, &place.zone());
    if (way) co_return way;
    dialling.used_up.push_back(place.zone());
    place.give_back(dialling.last);
  }
}

asio::awaitable<Result<Reached>> DialService::try_all(Dialling& dialling, PlacedEnd& placed,
                                                      std::unique_ptr<StreamEnd>& given) {
  while (dialling.tried.size() < shared_.options.dial_candidates) {
    CO_TRY(std::optional<Way> way, co_await next_way(dialling, placed));
    const Duration left = dialling.deadline - shared_.parts.clock.now();
    if (left <= Duration::zero() || !way) break;
    const route::Choice& choice = dialling.tried.emplace_back(*std::move(way)).choice;
    placed.place().opened();
    const Status opened = co_await try_one(dialling.tried.back(), open_stream(dialling.wanted),
                                           given, std::min(left, shared_.options.open_timeout));
    if (opened.ok()) {
      shared_.counts.dials[choice.via.empty() ? "own" : "peer"] += 1;
      co_return Reached{.agent = choice.agent, .zone = choice.zone, .via = choice.via};
    }
    const bool unwanted = co_await net::is_cancelled();
    dialling.last = unwanted ? route::Ended::GaveUp : ended_by(opened);
    if (unwanted) co_return absl::CancelledError("no longer wanted");
    if (reset_code_of(opened) == ResetCode::Refused) dialling.refused_by.push_back(choice.agent);
    shared_.counts.retried += 1;
    dialling.refusals += fmt::format("{}{}: {}", dialling.refusals.empty() ? "" : "; ",
                                     choice.agent, std::string(opened.message()));
  }
  co_return why_not(dialling);
}

Status DialService::why_not(const Dialling& dialling) const {
  const std::string& service = dialling.wanted.service;
  if (dialling.tried.empty()) {
    const std::string unhealthy = shared_.routes.why_unhealthy(service, dialling.selector);
    if (!unhealthy.empty()) {
      return coded(absl::StatusCode::kUnavailable, "HF2205",
                   fmt::format("{} is not healthy where it is carried ({})", service, unhealthy));
    }
    return coded(absl::StatusCode::kUnavailable, "HF2202",
                 fmt::format("no agent carries {} now", service));
  }
  if (shared_.parts.clock.now() >= dialling.deadline) {
    return coded(absl::StatusCode::kDeadlineExceeded, "HF2204",
                 fmt::format("no agent answered in time for {} ({})", service, dialling.refusals));
  }
  return coded(absl::StatusCode::kUnavailable, "HF2203",
               fmt::format("agents refused {} ({})", service, dialling.refusals));
}

asio::awaitable<Status> DialService::try_one(const Way& way, v1::OpenStream open,
                                             std::unique_ptr<StreamEnd>& end, Duration timeout) {
  if (!way.choice.via.empty()) {
    open.set_agent(way.choice.agent);
    co_return co_await uses_.peers.open(way.choice.via, open, end, timeout);
  }
  HeldTunnel* tunnel = way.tunnel ? uses_.tunnels.find(*way.tunnel) : nullptr;
  if (tunnel == nullptr) co_return absl::UnavailableError("its tunnel is gone");
  co_return co_await tunnel->open(std::move(open), end, timeout);
}

}  // namespace holdfast::tunnel
