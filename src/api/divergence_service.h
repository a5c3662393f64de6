// What a half of a pair wrote and the pair did not keep, for operators: the files, what each change
// would do to what there is now, and deciding.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

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
    asio::thread_pool& worker;  // reads the files, which may be large
    std::string folder;         // empty: this controller is not one of a pair, and there are none
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
  // A file, as the worker has read it.
  struct Opened {
    v1::DivergenceFile file{};
    Lost lost{};
    std::vector<store::Change> changes{};  // those of people's that were picked
    uint64_t left_out = 0;
  };
  // Run by the worker.
  using Pick = std::function<std::vector<store::Change>(std::vector<store::Change>)>;
  static Lost lost_of(const ha::Quarantine& quarantine);
  static Result<Opened> read(const std::string& folder, const std::string& file, const Pick& pick);
  asio::awaitable<Result<Opened>> open(std::string file, Pick pick);
  // What a change is now, and what would write it.
  struct Compared {
    v1::DivergedChange change{};
    store::Operation operation{};
  };
  asio::awaitable<Result<Compared>> compare(store::Change change, const Lost& lost);
  // Requires: it has the last change of each key.
  asio::awaitable<Result<v1::ResolveDivergenceResponse>> replay(Opened opened, bool overwrite);

  Parts parts_;
};

}  // namespace holdfast::api
