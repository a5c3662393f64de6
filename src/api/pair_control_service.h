// What operators ask of a pair: how it is, to switch over, to promote by force. Also of a
// controller that is not one of a pair, which says so.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "api/audit_service.h"
#include "api/gate.h"
#include "holdfast/v1/pair.pb.h"

namespace holdfast::ha {
class PairService;
}

namespace holdfast::api {

namespace asio = boost::asio;

class PairControlService {
 public:
  // `pair` may be null.
  PairControlService(AuditService& audit, ha::PairService* pair) : audit_(audit), pair_(pair) {}

  asio::awaitable<Result<v1::PairStatus>> get_pair(Caller caller, v1::GetPairRequest request);
  asio::awaitable<Result<v1::SwitchOverResponse>> switch_over(Caller caller,
                                                              v1::SwitchOverRequest request);
  asio::awaitable<Result<v1::PromoteResponse>> promote(Caller caller, v1::PromoteRequest request);

 private:
  AuditService& audit_;
  ha::PairService* pair_;
};

}  // namespace holdfast::api
