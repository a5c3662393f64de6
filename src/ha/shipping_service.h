// Carries the active half's history to the passive one: asks Shipping what is next, reads it from
// the store, sends it, and says what became of it. One message is on its way at a time; what is
// committed meanwhile goes with the next.
#pragma once

#include <grpcpp/channel.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "ha/shipping.h"
#include "holdfast/v1/pair.grpc.pb.h"
#include "store/replica.h"

namespace holdfast::ha {

namespace asio = boost::asio;

struct ShippingOptions {
  size_t batch_bytes = 1 << 20;
  Duration timeout = std::chrono::seconds(5);     // of one message
  Duration rest = std::chrono::milliseconds(20);  // after one that failed
};

struct ShippingStats {
  uint64_t batches = 0;
  uint64_t entries = 0;
  uint64_t failures = 0;
};

// Called on the loop; must not wait.
struct ShippingHandlers {
  // Of the tenure that is served now; 0: this half is not active, and nothing is sent.
  std::function<Epoch()> epoch;
  // To the peer; null while there is none.
  std::function<std::shared_ptr<grpc::Channel>()> channel;
  // The peer's disk has all of ours up to here.
  std::function<void(const Head&, const std::string& store_id)> on_acked;
  // The peer does not take what it was sent.
  std::function<void(const Status&)> on_not_taken;
};

class ShippingService {
 public:
  ShippingService(const asio::any_io_executor& loop, store::Replica& replica,
                  ShippingOptions options, ShippingHandlers handlers);

  // Until cancelled.
  asio::awaitable<void> run();
  // There may be something to send: a write, a beat, a tenure, a connection.
  void wake() { woken_.cancel(); }
  void restart();
  void on_beat(const Beat& beat, const Beat& mine);

  const Shipping& core() const { return shipping_; }
  const ShippingStats& stats() const { return stats_; }

 private:
  asio::awaitable<void> send(Epoch epoch, Shipment shipment);
  asio::awaitable<Result<v1::ReplicateResponse>> send_entries(v1::ReplicateRequest request,
                                                              Shipment shipment);
  asio::awaitable<Result<v1::ReplicateResponse>> send_copy(v1::ReplicateRequest request);
  asio::awaitable<Result<v1::ReplicateResponse>> send_pages(const v1::ReplicateRequest& request,
                                                            store::ReplicaFacts of);
  asio::awaitable<Result<v1::ReplicateResponse>> replicate(v1::ReplicateRequest request);

  store::Replica& replica_;
  ShippingOptions options_;
  ShippingHandlers handlers_;
  Shipping shipping_;
  ShippingStats stats_;
  uint64_t last_copy_ = 0;
  Status failure_;  // the last
  asio::steady_timer woken_;
};

}  // namespace holdfast::ha
