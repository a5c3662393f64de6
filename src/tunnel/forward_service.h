// The agent's end of streams: takes what a proxy asks for to the application that the table names,
// and to nothing else.
//
//   OpenStream ─► TargetTable ─► connect (TCP or unix) ─► Link::accept with a SocketEnd
//        └───────────┴──────────────────┴─► Link::reset: NotExposed, Refused, Timeout, Limit, ...
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "net/http_stream.h"
#include "net/task_group.h"
#include "tunnel/link_service.h"
#include "tunnel/target.h"

namespace holdfast::tunnel {

struct ForwardOptions {
  Duration connect_timeout = std::chrono::seconds(5);  // with the look-up of a name
  size_t max_connections = 65'536;                     // to applications, being dialled or open
  size_t max_per_target = 16'384;
};

struct ForwardStats {
  uint64_t accepted = 0;     // connections to applications that streams were given
  uint64_t refused = 0;      // the application did not answer
  uint64_t timed_out = 0;    // nor refuse
  uint64_t not_exposed = 0;  // asked for what the table does not name
  uint64_t unhealthy = 0;    // asked for what does not work here now
  uint64_t over_limit = 0;
  uint64_t malformed = 0;  // not an OpenStream
  uint64_t draining = 0;   // asked for while nothing new is taken
  uint64_t cancelled = 0;  // the tunnel went before the application answered
  uint64_t cut = 0;        // streams that were accepted and did not come to their own end
  uint64_t bytes_in = 0;   // from proxies to applications, of streams that are over
  uint64_t bytes_out = 0;  // and from applications to proxies
  size_t connections = 0;  // now: being dialled or open
};

// Outlives the links whose streams it serves.
class ForwardService {
 public:
  // What the cluster says of a service; absent if nothing is known.
  using FindService = std::function<std::optional<v1::Service>(const std::string& name)>;

  ForwardService(const asio::any_io_executor& loop, ForwardOptions options);
  ForwardService(const ForwardService&) = delete;
  ForwardService& operator=(const ForwardService&) = delete;

  // For streams from here on; those that run stay where they are.
  void set_targets(TargetTable targets);
  void set_services(FindService find) { find_service_ = std::move(find); }
  const TargetTable& targets() const { return targets_; }
  // Services that are not healthy, and why: asked for by who does not know it yet, they are
  // refused, so that another agent is tried. What runs goes on.
  using Unhealthy = std::map<std::string, std::string, std::less<>>;
  void set_unhealthy(Unhealthy services) { unhealthy_ = std::move(services); }

  // From LinkOwner::on_open(): answers the stream, now or later.
  void open(Link& link, StreamId stream, std::string_view payload);
  // The link is about to go: it is not touched any more.
  void forget(const Link& link);
  // Nothing new is taken from here on; what runs goes on.
  void drain() { draining_ = true; }
  asio::awaitable<void> stop() { return tasks_.join(); }

  const ForwardStats& stats() const { return stats_; }

 private:
  class Place;  // one of the connections that the limits allow
  using SharedPlace = std::shared_ptr<const Place>;
  struct Asked {
    Link* link;  // null: gone
    StreamId stream;
  };
  using AskedAt = std::list<Asked>::iterator;

  struct Refusal {
    ResetCode code;
    std::string why;
  };
  void refuse(Link& link, StreamId stream, const Refusal& refusal);
  uint64_t& count_of(ResetCode code);
  SharedPlace take_place(const std::string& target);
  asio::awaitable<void> connect(AskedAt asked, Target target, SharedPlace place);
  void answer(const Asked& asked, Result<net::StreamSocket> socket, SharedPlace place);
  void note(const std::string& target, const Status& dialled);

  ForwardOptions options_;
  FindService find_service_;
  TargetTable targets_;
  Unhealthy unhealthy_;
  bool draining_ = false;
  ForwardStats stats_;
  std::map<std::string, size_t> by_target_;  // connections, being dialled or open
  std::list<Asked> asked_;                   // and not answered yet
  std::set<std::string> silent_;             // targets that did not answer the last time
  net::TaskGroup tasks_;
};

}  // namespace holdfast::tunnel
