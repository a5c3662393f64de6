// A controller as one half of a pair: the pair's service, the beats that the other half follows,
// and the store as clients see it. Wiring only.
#pragma once

#include <boost/asio/any_io_executor.hpp>

#include <functional>
#include <memory>
#include <string>

#include "api/beat_streams.h"
#include "api/gate.h"
#include "api/pair_fronts.h"
#include "app/metric_totals.h"
#include "base/clock.h"
#include "base/result.h"
#include "ha/pair_service.h"
#include "store/replicated_store.h"
#include "web/backend_service.h"

namespace holdfast::app {

namespace asio = boost::asio;

// The certificate to be seen with, and whom to trust.
struct PairIdentity {
  std::string certificate_pem;
  std::string private_key_pem;
  std::string ca_pem;
  bool operator==(const PairIdentity&) const = default;
};

// What `holdfast join` left for a half that has no authority in its store yet; kNotFound if it left
// nothing.
struct JoinedIdentity {
  PairIdentity identity;
  std::string cluster;
};
Result<JoinedIdentity> joined_identity(const std::string& data_dir, const std::string& name);

class ControllerPair {
 public:
  struct Parts {
    asio::any_io_executor loop;
    const Clock& clock;
    store::Store& store;
    store::Replica& replica;
    api::Gate& gate;
  };
  // `changed`: who is active, in which epoch, or whether this half is ready.
  ControllerPair(const Parts& parts, ha::PairOptions options, std::function<void()> changed);

  ha::PairService& service() { return service_; }
  const ha::PairService& service() const { return service_; }
  // Shows only what is acknowledged, and nothing on a half that is not active.
  store::ReplicatedStore& store() { return store_; }
  api::BeatStreams& beats() { return beats_; }
  api::PairParts parts() { return {service_, beats_}; }
  web::PairBackend backend();
  void set_identity(const PairIdentity& identity);
  // Why the component "pair" is not well; OK if it is.
  Status status() const;
  void update_metrics(MetricTotals& metrics) const;

 private:
  api::BeatStreams beats_;
  ha::PairService service_;
  store::ReplicatedStore store_;
  PairIdentity identity_;
};

}  // namespace holdfast::app
