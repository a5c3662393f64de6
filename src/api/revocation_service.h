// Takes away again what a history that the pair did not keep had taken away: tokens, roles and
// users that were removed in it, users that were disabled in it. Each file of it is gone through
// once, by the half that has it; what it granted stays lost until an operator decides.
#pragma once

#include <boost/asio/awaitable.hpp>

#include <string>

#include "base/result.h"
#include "ha/quarantine.h"
#include "store/store.h"

namespace holdfast::ha {
class PairService;
}

namespace holdfast::api {

namespace asio = boost::asio;

class RevocationService {
 public:
  struct Parts {
    store::Store& reads;   // this half's own copy
    store::Store& writes;  // as clients see it, while this half is active
    ha::PairService& pair;
    std::string folder;
  };
  explicit RevocationService(Parts parts) : parts_(std::move(parts)) {}

  // Until cancelled.
  asio::awaitable<void> run();
  uint64_t applied() const { return applied_; }

 private:
  asio::awaitable<Status> go_through(std::string file);
  asio::awaitable<Status> apply(ha::Revocation revocation);
  asio::awaitable<Status> write(store::Operation operation);
  asio::awaitable<Status> ask_active(store::Operation operation);

  Parts parts_;
  uint64_t applied_ = 0;
};

}  // namespace holdfast::api
