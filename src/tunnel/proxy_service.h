// A proxy's tunnels: takes those of agents and of peers, keeps one to every other proxy, opens
// streams to whoever carries a service, and leaves without cutting anybody off.
//
//   agents ──► TunnelServer ─► TunnelTable ─┐
//                                           ├─► route ─► dial() ◄── ingress
//   peers ◄──► PeerService ──► PeerTable ───┘      └─ PlacesService: how many go to which zone
//
// It knows what `app` tells it: which proxies and services there are, and the settings.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "holdfast/v1/resource.pb.h"
#include "metrics/metrics.h"
#include "tunnel/places_service.h"
#include "tunnel/proxy_options.h"
#include "tunnel/stream_dialer.h"

namespace holdfast::tunnel {

class ProxyService final : public StreamDialer {
 public:
  // Everything outlives it.
  struct Parts {
    asio::any_io_executor loop;
    const Clock& clock;
    metrics::Registry& registry;
    LinkBuffers& buffers;
  };
  // What it asks of others; called on the loop.
  struct Asks {
    // Absent if there is no such service; kUnavailable, with a code, if nobody knows.
    std::function<Result<std::optional<v1::Service>>(const std::string& name)> service{};
    // To say to the controllers that it is draining: whether one took it. Given up after
    // drain.deregister_within. May be empty.
    std::function<asio::awaitable<bool>()> announce_draining{};
    // Clients may come: it knows what its peers hold, as far as they say so in time. Once, after
    // start(). May be empty.
    std::function<void()> ready{};
    // To take no new clients: returns when those who were already at the door are in and were
    // dialled for. May be empty.
    std::function<asio::awaitable<void>()> close_ingress{};
    // A load report is due sooner than it was (places().report_due()). May be empty.
    std::function<void()> load_due{};
  };
  ProxyService(Parts parts, ProxyOptions options, Asks asks);
  // Requires: stop() has returned, or listen() was never called.
  ~ProxyService() override;

  // Where agents and peers reach it, as others are to be told. `peer` is empty without peers.
  struct Addresses {
    std::string tunnel{};
    std::string peer{};
  };
  // kInvalidArgument if an address is none, kUnavailable if it cannot be had. Needs an identity.
  Result<Addresses> listen();
  // Takes tunnels from now on. Requires: listen() succeeded.
  void start();

  // For handshakes from now on; running links stay. kInvalidArgument, and no change, if it is not
  // one of a proxy of ours.
  Status set_identity(const ProxyIdentity& identity);
  // All there are, this one included or not: as often as the cache changes.
  void set_proxies(const std::vector<CachedProxy>& proxies);
  void set_settings(const v1::NetworkingConfig& settings);
  // What the controllers hold this proxy for gone after: agents are told so of every proxy. A time
  // in which nothing might be heard over a living link is made longer.
  void set_announce_ttl(Duration ttl);
  Duration announce_ttl() const;  // as agents are told
  void set_load(const ProxyLoad& load);

  asio::awaitable<Result<Reached>> dial(const Wanted& wanted,
                                        std::unique_ptr<StreamEnd>& end) override;

  // Leaves in good order; returns when nothing runs any more or the deadline has passed. Asked
  // again meanwhile, it waits for the same end. Tunnels are closed then; stop() is still needed.
  // `deadline` replaces the options' one; of later calls it counts if it is earlier.
  asio::awaitable<void> drain(std::optional<Duration> deadline = {});
  // A drain() under way ends within this time, if that is earlier than it was to end; else nothing.
  void shorten_drain(Duration deadline);
  // The same at once: what still runs is cut; a drain() under way returns soon.
  void drain_now();
  // Ends everything at once, in bounded time.
  asio::awaitable<void> stop();

  // What clients take, for reports to the controllers and for metrics.
  PlacesService& places();

  bool draining() const;
  // Proxies that are heard from, as agents are told: names, this one included.
  std::vector<std::string> discovered() const;
  ProxyStatus describe() const;
  size_t tunnel_count() const;  // of those that describe() lists; cheap
  // Gauges, from time to time.
  void update_metrics();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace holdfast::tunnel
