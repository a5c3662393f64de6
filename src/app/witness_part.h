// The witness of a pair, in whatever process keeps it: the record, who may change it, and the
// listener. Any agent or proxy may have one; `holdfastd witness` has nothing else.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <memory>
#include <string>

#include "api/audit_service.h"
#include "api/gate.h"
#include "api/grpc_server.h"
#include "app/node_part.h"
#include "base/clock.h"
#include "base/result.h"
#include "ha/witness_service.h"
#include "metrics/metrics.h"
#include "node/held_identity.h"

namespace holdfast::app {

namespace asio = boost::asio;

struct WitnessPartOptions {
  std::string listen{};    // IP:PORT
  std::string data_dir{};  // of the record, and of the node's identity
};

class WitnessPart {
 public:
  // Reads the record: kDataLoss HF4204 if it is damaged.
  static Result<std::unique_ptr<WitnessPart>> open(const asio::any_io_executor& loop,
                                                   const Clock& clock, WitnessPartOptions options);

  // Serves with the node's identity file, which is read again when it changes. Its address.
  Result<std::string> listen(const node::HeldIdentity& held);
  // Whom to trust, when that changed.
  void set_identity(const node::HeldIdentity& held);
  ComponentReport report() const;
  void update_metrics(metrics::Registry& registry);
  asio::awaitable<void> stop();

 private:
  WitnessPart(const asio::any_io_executor& loop, WitnessPartOptions options);

  asio::any_io_executor loop_;
  WitnessPartOptions options_;
  std::unique_ptr<api::AuditService> audit_;
  std::unique_ptr<ha::WitnessService> service_;
  std::unique_ptr<api::Gate> gate_;
  std::unique_ptr<api::GrpcServer> server_;
  Status trusted_;
};

}  // namespace holdfast::app
