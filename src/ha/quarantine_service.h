// Keeps what this half wrote and the pair does not, before a copy of the other half's history takes
// its place.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>

#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "store/replica.h"

namespace holdfast::ha {

namespace asio = boost::asio;

struct QuarantineOptions {
  std::string folder{};
  std::string node{};
  // Of what was written in this epoch, or before, clients may have been told that it happened.
  store::Epoch acknowledged_through = 0;
  bool unfit = false;  // nothing is in common, whatever the epochs say
};

// First the whole store (whole_loader.h), then the end of its history in a file of its own. Without
// the whole store if that file has all of it and clients were told of nothing in it.
// Nothing to keep is OK, too. An error (HF4119): it could not be kept,
// and nothing should replace it yet. The file may be large: `worker` makes and writes it.
asio::awaitable<Status> keep_lost(store::Replica& replica, store::ReplicaFacts winner,
                                  QuarantineOptions options, WallTime now,
                                  asio::thread_pool& worker);

}  // namespace holdfast::ha
