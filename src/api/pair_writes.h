// Writes of a half of a pair that are not a client's: by its own store while it is active, else by
// a call to the half that is.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "base/result.h"
#include "store/store.h"

namespace holdfast::ha {
class PairService;
}

namespace holdfast::api {

namespace asio = boost::asio;

class PairWrites {
 public:
  // `writes`: as clients see it.
  PairWrites(store::Store& writes, ha::PairService& pair) : writes_(writes), pair_(pair) {}

  // Requires: of a resource's key, and conditional on its revision or its absence. kAborted,
  // kAlreadyExists or kNotFound: it is not so.
  asio::awaitable<Status> write(store::Operation operation);

 private:
  asio::awaitable<Status> ask_active(store::Operation operation);

  store::Store& writes_;
  ha::PairService& pair_;
};

}  // namespace holdfast::api
