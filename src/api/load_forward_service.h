// The way from a controller that does not deal to the one that does: a channel to the address that
// it announced, kept until the address or the own certificate changes.
#pragma once

#include <grpcpp/channel.h>

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "holdfast/v1/load.pb.h"
#include "rpc/channel.h"
#include "store/store.h"

namespace holdfast::api {

namespace asio = boost::asio;

class LoadForwardService {
 public:
  struct Asks {
    std::function<std::string()> dealer;           // the name of who deals; empty: nobody known
    std::function<Result<rpc::TlsOptions>()> tls;  // as this controller is seen by others
  };
  // Shorter than holders wait before they doubt the controller that they asked.
  explicit LoadForwardService(Asks asks, Duration timeout = std::chrono::milliseconds(700))
      : asks_(std::move(asks)), timeout_(timeout) {}

  // The announced controllers: everything, or one change.
  void on_reset(const std::vector<store::Item>& items);
  void on_change(const store::Change& change);

  // kFailedPrecondition HF2404 if nobody deals, or it cannot be reached; else as it answers.
  asio::awaitable<Result<v1::LoadGrant>> report(v1::LoadReport report);
  asio::awaitable<Result<v1::GetLoadResponse>> get_load(v1::GetLoadRequest request);

 private:
  using Channel = std::shared_ptr<grpc::Channel>;  // tidy: shared, gRPC's own handle
  Result<Channel> channel();
  void take(const store::Item& item);

  Asks asks_;
  Duration timeout_;
  std::map<std::string, std::string, std::less<>> addresses_;  // of controllers, by name
  std::string address_;                                        // that channel_ leads to
  std::string certificate_;                                    // that it shows
  Channel channel_;
};

}  // namespace holdfast::api
