// What a half of a pair wrote and the pair did not keep, for operators: the files, what each change
// would do to what there is now, and deciding.
#pragma once

#include <boost/asio/awaitable.hpp>

#include <string>

#include "api/audit_service.h"
#include "api/gate.h"
#include "base/result.h"
#include "ha/quarantine.h"
#include "holdfast/v1/pair.pb.h"
#include "store/store.h"

namespace holdfast::api {

namespace asio = boost::asio;

class DivergenceService {
 public:
  struct Parts {
    store::Store& reads;   // this half's own copy
    store::Store& writes;  // as clients see it
    AuditService& audit;
    std::string folder;  // empty: this controller is not one of a pair, and there are none
  };
  explicit DivergenceService(Parts parts) : parts_(std::move(parts)) {}

  asio::awaitable<Result<v1::ListDivergencesResponse>> list(Caller caller,
                                                            v1::ListDivergencesRequest request);
  // kNotFound HF4131.
  asio::awaitable<Result<v1::Divergence>> get(Caller caller, v1::GetDivergenceRequest request);
  asio::awaitable<Result<v1::ResolveDivergenceResponse>> resolve(
      Caller caller, v1::ResolveDivergenceRequest request);
  uint32_t count() const;

 private:
  Result<ha::Quarantine> load(const std::string& file) const;
  asio::awaitable<Result<v1::DivergedChange>> compare(store::Change change, store::Revision fork);
  asio::awaitable<Result<v1::ResolveDivergenceResponse>> replay(ha::Quarantine quarantine,
                                                                bool overwrite);

  Parts parts_;
};

}  // namespace holdfast::api
