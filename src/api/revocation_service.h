// Takes away again what a history that the pair did not keep had taken away: tokens, roles and
// users that were removed in it, users that were disabled in it. Each file of it is gone through
// once, by the half that has it; what it granted stays lost until an operator decides.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "ha/quarantine.h"
#include "store/replica.h"
#include "store/store.h"

namespace holdfast::api {

namespace asio = boost::asio;

// What takes a right away, among what is stored.
ha::RevocationRules revocation_rules();

class RevocationService {
 public:
  struct Parts {
    store::Store& reads;      // this half's own copy
    store::Replica& replica;  // the same
    // As PairWrites::write().
    std::function<asio::awaitable<Status>(store::Operation)> write;
    asio::thread_pool& worker;  // reads the files, which may be large
    std::string folder;
  };
  explicit RevocationService(Parts parts) : parts_(std::move(parts)) {}

  // Looks every second, until cancelled.
  asio::awaitable<void> run();
  // Once: a file that cannot be gone through to its end waits for the next time.
  asio::awaitable<void> look();
  uint64_t applied() const { return applied_; }

 private:
  // What a file took away, read once until all of it is done again.
  struct Waiting {
    std::string file{};
    std::vector<ha::Revocation> revocations{};
  };

  asio::awaitable<Status> go_through(std::string file);
  asio::awaitable<Status> apply(ha::Revocation revocation);

  Parts parts_;
  std::optional<Waiting> waiting_{};
  uint64_t applied_ = 0;
};

}  // namespace holdfast::api
