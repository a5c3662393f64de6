// `holdfastd witness`: keeps the record of a pair of controllers, and its own certificate fresh.
// Wiring only. It is in no list of nodes and announces nothing.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <memory>
#include <string>
#include <vector>

#include "app/node_fronts.h"
#include "app/witness_part.h"
#include "base/clock.h"
#include "base/result.h"
#include "events/fan_out.h"
#include "metrics/metrics.h"
#include "net/task_group.h"
#include "node/held_identity.h"
#include "node/identity_keeper.h"
#include "node/link_service.h"

namespace holdfast::app {

struct WitnessOptions {
  std::string data_dir{};
  std::string listen{};         // of the record
  std::string health_listen{};  // plain; empty: only on the socket
  std::vector<std::string> servers{};
  std::string version{};
  uint64_t seed = 1;
  Duration look_for_trust = std::chrono::seconds(10);
  Duration call_timeout = std::chrono::seconds(5);
};

class Witness {
 public:
  static Result<std::unique_ptr<Witness>> open(const asio::any_io_executor& loop,
                                               const Clock& clock, WitnessOptions options,
                                               node::HeldIdentity held);

  // The addresses it has.
  Result<std::vector<std::string>> listen();
  void start();
  asio::awaitable<void> stop();

 private:
  Witness(const asio::any_io_executor& loop, const Clock& clock, WitnessOptions options,
          node::HeldIdentity held);
  const node::HeldIdentity& held() const { return *link_.newest(); }
  void adopt(node::HeldIdentity next);
  asio::awaitable<void> tick();
  asio::awaitable<void> follow_trust();
  asio::awaitable<Status> take_trust();
  asio::awaitable<void> renew();
  asio::awaitable<Status> try_renew();

  const Clock& clock_;
  WitnessOptions options_;
  std::string folder_;
  metrics::Registry registry_;
  events::FanOut fan_out_;
  std::unique_ptr<WitnessPart> part_;
  NodeFronts fronts_;
  node::LinkService link_;
  node::IdentityKeeper keeper_;
  net::TaskGroup tasks_;
};

}  // namespace holdfast::app
