// Which writes were applied, by the id their client gave them: so that a write that is sent again,
// to this or another controller, is answered and not applied again. The record is put by the commit
// that carries the write, and forgotten after a while (docs/decisions/0015).
#pragma once

#include <google/protobuf/message.h>

#include <boost/asio/awaitable.hpp>

#include <optional>
#include <string>
#include <string_view>

#include "api/gate.h"
#include "base/clock.h"
#include "base/result.h"
#include "store/store.h"

namespace holdfast::api {

namespace asio = boost::asio;

// Where records are kept. No kind has this name, so neither lists nor watches see them.
inline constexpr std::string_view kRequestPrefix = "/request/";
inline constexpr Duration kRequestMemory = std::chrono::minutes(10);
// From the look for a record to the commit. Whoever takes longer, a controller that was frozen, may
// have missed a record that came and went meanwhile.
inline constexpr Duration kMaxCommitDelay = std::chrono::minutes(1);

// A write as its record knows it.
struct MarkedRequest {
  std::string id{};      // empty: it has none, and may be applied again
  std::string digest{};  // of who asks for what
  Time looked_up{};      // when its record was looked for, by both hands of the clock
  WallTime looked_up_wall{};
};

// kInvalidArgument unless the id is empty, or is_request_id().
Result<MarkedRequest> mark_request(const Caller& caller, std::string_view verb, std::string id,
                                   const google::protobuf::Message& request);

class RequestRecords {
 public:
  RequestRecords(store::Store& store, const Clock& clock) : store_(store), clock_(clock) {}

  // The revision of the commit that applied it; absent if none is known to have. kInvalidArgument
  // HF6024 if the id was used for another request.
  asio::awaitable<Result<std::optional<store::Revision>>> find(MarkedRequest& request);
  // Goes into the commit that applies it, which then fails if another did before. kUnavailable if
  // find() was too long ago for that to be sure. Requires: find() before.
  Result<store::Operation> record_of(const MarkedRequest& request) const;

 private:
  store::Store& store_;
  const Clock& clock_;
};

}  // namespace holdfast::api
