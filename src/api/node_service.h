// What nodes and operators ask besides resources: announcing, how to balance, how the controller
// is. Checks that a node speaks for itself only.
#pragma once

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <string>

#include "api/authority_service.h"
#include "api/gate.h"
#include "api/presence_service.h"
#include "api/tenure_service.h"
#include "events/fan_out.h"
#include "health/health.h"
#include "holdfast/v1/node.pb.h"

namespace holdfast::api {

namespace asio = boost::asio;

struct NodeServiceOptions {
  std::string controller_name;
  std::string version;
  std::string store;  // "sqlite", "etcd" or "memory"
  WallTime started;
  v1::ServiceConfig service_config;
  // Of a controller that is one of a pair: which half it is now. May be empty.
  std::function<void(v1::GetStatusResponse&)> describe_pair = {};
};

class NodeService {
 public:
  struct Parts {
    Gate& gate;
    PresenceService& presence;
    AuthorityService& authority;
    const events::FanOut& fan_out;
    const health::Health& health;
    const TenureService& tenure;
    const Clock& clock;
  };
  NodeService(Parts parts, NodeServiceOptions options)
      : parts_(parts), options_(std::move(options)) {}

  asio::awaitable<Result<v1::AnnounceResponse>> announce(Caller caller,
                                                         v1::AnnounceRequest request);
  asio::awaitable<Result<v1::GoodbyeResponse>> goodbye(Caller caller, v1::GoodbyeRequest request);
  asio::awaitable<Result<v1::GetServiceConfigResponse>> get_service_config(
      Caller caller, v1::GetServiceConfigRequest request);
  asio::awaitable<Result<v1::GetStatusResponse>> get_status(Caller caller,
                                                            v1::GetStatusRequest request);
  v1::GetStatusResponse status() const;

 private:
  Status allow_as(const Caller& caller, std::string_view verb, const std::string& kind,
                  const std::string& name);

  Parts parts_;
  NodeServiceOptions options_;
};

}  // namespace holdfast::api
