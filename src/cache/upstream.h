// Where a cache gets its resources: a controller over gRPC (node/upstream_service), or another
// cache (CacheService is one itself). The contract is that of api.proto.
#pragma once

#include <boost/asio/awaitable.hpp>

#include <memory>

#include "base/result.h"
#include "holdfast/v1/api.pb.h"

namespace holdfast::cache {

namespace asio = boost::asio;

class EventStream {
 public:
  virtual ~EventStream() = default;
  // The next message; Init first. kOutOfRange: read anew. kAborted: the stream moves, open it again
  // at once. Anything else: it is broken, wait a while.
  virtual asio::awaitable<Result<v1::WatchResponse>> next() = 0;
  // Ends a waiting next() and every later one with kCancelled. Destroyed after next() returned.
  virtual void close() = 0;
};

// Belongs to one executor. Every call ends in bounded time, except a next() that has nothing to
// say.
class Upstream {
 public:
  virtual ~Upstream() = default;
  virtual asio::awaitable<Result<std::unique_ptr<EventStream>>> watch(v1::WatchRequest request) = 0;
  virtual asio::awaitable<Result<v1::ListResponse>> list(v1::ListRequest request) = 0;
  virtual asio::awaitable<Result<v1::Resource>> get(v1::GetRequest request) = 0;
};

}  // namespace holdfast::cache
