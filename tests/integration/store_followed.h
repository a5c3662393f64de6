// A store in memory whose history is the same whenever it is made anew: what a follower in a crash
// or disk test copies, and what it is compared with afterwards.
#pragma once

#include "store/memory_store.h"

namespace holdfast::test {

// Fills an empty store and begins the tenure: one history per epoch.
boost::asio::awaitable<Status> begin_followed(store::MemoryStore& store, store::Epoch epoch);
// The next commit of that history: a few puts and deletes.
boost::asio::awaitable<Status> advance_followed(store::MemoryStore& store);

}  // namespace holdfast::test
