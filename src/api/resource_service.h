// Get, list, create, update, upsert and delete over the store: what every way into the controller
// (gRPC now, HTTP later) answers with. Knows resources and keys; knows no transport.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "base/result.h"
#include "holdfast/v1/api.pb.h"
#include "resource/registry.h"
#include "store/store.h"

namespace holdfast::api {

namespace asio = boost::asio;

struct ResourceLimits {
  uint32_t default_page_size = 200;
  uint32_t max_page_size = 1'000;
  size_t max_page_bytes = 2 << 20;      // a page ends early at this
  size_t max_scanned_per_page = 5'000;  // and at this, when a filter matches little
};

class ResourceService {
 public:
  ResourceService(store::Store& store, ResourceLimits limits) : store_(store), limits_(limits) {}

  asio::awaitable<Result<v1::Resource>> get(v1::GetRequest request);
  asio::awaitable<Result<v1::ListResponse>> list(v1::ListRequest request);
  asio::awaitable<Result<v1::Resource>> create(v1::WriteRequest request);
  asio::awaitable<Result<v1::Resource>> update(v1::WriteRequest request);
  asio::awaitable<Result<v1::Resource>> upsert(v1::WriteRequest request);
  asio::awaitable<Result<v1::DeleteResponse>> remove(v1::DeleteRequest request);

 private:
  asio::awaitable<Result<v1::Resource>> write(v1::WriteRequest request,
                                              store::Precondition precondition);

  store::Store& store_;
  ResourceLimits limits_;
};

// The resource in a stored item, its revision and expiry as the store has them. kDataLoss if the
// bytes are not a resource.
Result<v1::Resource> decode_item(const store::Item& item);

}  // namespace holdfast::api
