// What the parts of a proxy share: its cores, its identity and its counts. One loop, no locks.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/rng.h"
#include "identity/certificate.h"
#include "net/tls_context.h"
#include "route/routes.h"
#include "tunnel/advice_schedule.h"
#include "tunnel/discovery.h"
#include "tunnel/drain_plan.h"
#include "tunnel/greeting.h"
#include "tunnel/peer_table.h"
#include "tunnel/proxy_counts.h"
#include "tunnel/proxy_options.h"
#include "tunnel/tunnel_table.h"

namespace holdfast::tunnel {

struct ProxyShared {
  struct Parts {
    asio::any_io_executor loop;
    const Clock& clock;
    LinkBuffers& buffers;
  };
  ProxyShared(Parts parts_of, ProxyOptions options_of);

  // kInvalidArgument, and no change, if it is not a proxy's of this name and cluster.
  Status set_identity(const ProxyIdentity& identity);
  GreetingRules rules(identity::Role role) const;
  ProxyFacts own_facts() const;
  // Says of this proxy what is so now.
  void tell_self() { discovery.set_self(own_facts(), parts.clock.now()); }
  // Whether agents could have a tunnel to no other proxy, as far as is known.
  bool is_alone() const;
  LinkOptions link_options(Side side) const;
  LinkOptions peer_link_options(Side side) const;
  // What those who dialled are answered: the bytes of a welcome.
  std::string welcome() const;
  // Whether what strangers make happen may be logged once more: it is counted in any case.
  bool may_log();
  // A tunnel or a peer's link is over: if somebody broke the rules or fell silent, that is counted
  // by its code and told.
  void note_end(const identity::Identity& who, const Status& why);
  struct StreamTarget {
    std::string agent{};
    TunnelId tunnel = 0;    // 0: through a peer
    std::string payload{};  // an OpenStream
  };
  // As Link::open(); counts as a stream to the agent from now on until its end is destroyed.
  // The link must outlive the call.
  asio::awaitable<Status> open_on(Link& link, StreamTarget target, std::unique_ptr<StreamEnd>& end,
                                  Duration timeout);

  Parts parts;
  const ProxyOptions options;
  std::string tunnel_address{};  // as others are told
  std::string peer_address{};
  identity::Trust trust;
  identity::Validity validity{};  // of the own certificate
  std::shared_ptr<const net::TlsContext> tunnel_tls{};
  std::shared_ptr<const net::TlsContext> peer_tls{};
  std::shared_ptr<const net::TlsContext> dial_tls{};
  SessionOptions session{};  // with the keepalive of the settings

  route::Routes routes;
  TunnelTable table;
  PeerTable peers;
  Discovery discovery;
  DrainPlan drain;
  PeriodicAdvice periodic;
  Rng rng;
  ProxyCounts counts{};

  std::optional<Duration> reconnect{};  // of the settings
  bool is_ready = false;                // clients may come
  bool refuse_tunnels = false;          // new ones of agents
  bool refuse_relays = false;           // new streams of peers
  size_t streams = 0;                   // that run: to agents, by own tunnels and by peers
  size_t relays = 0;                    // of them, for peers
  size_t dialing = 0;                   // that are being opened
  Time log_second{};
  size_t log_lines = 0;  // since then
  // There is something to do before the next tick.
  std::function<void()> wake = [] {};
  // Something that a proxy waits for before it is ready.
  void news_of_peers() {
    if (!is_ready) wake();
  }
};

// Why the stream was refused, as the status of Link::open() says; Refused if it does not.
ResetCode reset_code_of(const Status& status);

}  // namespace holdfast::tunnel
