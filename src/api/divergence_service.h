// What a half of a pair wrote and the pair did not keep, for operators: the files, what each change
// would do to what there is now, and deciding.
#pragma once

#include <boost/asio/awaitable.hpp>

#include <optional>
#include <set>
#include <string>

#include "api/audit_service.h"
#include "api/gate.h"
#include "api/pair_writes.h"
#include "base/result.h"
#include "ha/quarantine.h"
#include "holdfast/v1/pair.pb.h"
#include "store/store.h"

namespace holdfast::api {

namespace asio = boost::asio;

class DivergenceService {
 public:
  struct Parts {
    store::Store& reads;  // this half's own copy
    AuditService& audit;
    std::string folder;  // empty: this controller is not one of a pair, and there are none
    std::optional<PairWrites> writes;  // of a pair
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
  // What is known of a file as a whole.
  struct Lost {
    store::Revision fork = 0;
    std::set<std::string> taken_away{};  // keys of rights, in a history that was acknowledged
  };
  static Lost lost_of(const ha::Quarantine& quarantine);
  Result<ha::Quarantine> load(const std::string& file) const;
  // What a change is now, and what would write it.
  struct Compared {
    v1::DivergedChange change{};
    store::Operation operation{};
  };
  asio::awaitable<Result<Compared>> compare(store::Change change, const Lost& lost);
  asio::awaitable<Result<v1::ResolveDivergenceResponse>> replay(ha::Quarantine quarantine,
                                                                bool overwrite);
  v1::DivergenceFile describe(const std::string& name, const ha::Quarantine& quarantine) const;

  Parts parts_;
};

}  // namespace holdfast::api
