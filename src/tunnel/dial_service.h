// From a client's wish to a stream: a place in a zone, an agent of that zone, a way to it. What one
// agent refuses the next may take; ten seconds in all.
//
//   services with limits:  zones that carry it ─► place ─► an agent there ─► stream
//   all others:            the best agent ─► its zone is counted ─► stream
#pragma once

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <optional>
#include <string>

#include "holdfast/v1/resource.pb.h"
#include "tunnel/peer_service.h"
#include "tunnel/placed_end_service.h"
#include "tunnel/proxy_shared_service.h"
#include "tunnel/stream_dialer.h"
#include "tunnel/tunnel_server.h"

namespace holdfast::tunnel {

// What metrics call a connection to this port of the service; both outlive it.
AskedFor asked_for(const v1::Service& service, const Wanted& wanted);

class DialService {
 public:
  // All outlive it.
  struct Uses {
    ProxyShared& shared;
    PlacesService& places;
    TunnelServer& tunnels;
    PeerService& peers;
  };
  explicit DialService(Uses uses) : uses_(uses), shared_(uses.shared) {}

  // As StreamDialer::dial().
  asio::awaitable<Result<Reached>> dial(const v1::Service& service, const Wanted& wanted,
                                        std::unique_ptr<StreamEnd>& end);

 private:
  // One way to an agent: by a tunnel of ours, or a peer.
  struct Way {
    route::Choice choice{};
    std::optional<TunnelId> tunnel{};
    bool operator==(const Way&) const = default;
  };
  struct Dialling;

  std::optional<Way> find_way(const Dialling& dialling, const std::string* zone);
  // The zone that the last try had better not be in: all others were.
  const std::string* spent_zone(const Dialling& dialling) const;
  asio::awaitable<Result<std::optional<Way>>> next_way(Dialling& dialling, PlacedEnd& placed);
  asio::awaitable<Status> try_one(const Way& way, v1::OpenStream open,
                                  std::unique_ptr<StreamEnd>& end, Duration timeout);
  asio::awaitable<Result<Reached>> try_all(Dialling& dialling, PlacedEnd& placed,
                                           std::unique_ptr<StreamEnd>& given);
  Status why_not(const Dialling& dialling) const;

  Uses uses_;
  ProxyShared& shared_;
};

}  // namespace holdfast::tunnel
