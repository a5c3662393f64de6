// Get, list, create, update, upsert and delete over the store: what every way into the controller
// (gRPC, HTTP) answers with. Checks what the caller may and writes the audit; knows no transport.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "api/audit_service.h"
#include "api/gate.h"
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
  ResourceService(store::Store& store, Gate& gate, AuditService& audit, ResourceLimits limits)
      : store_(store), gate_(gate), audit_(audit), limits_(limits) {}

  asio::awaitable<Result<v1::Resource>> get(Caller caller, v1::GetRequest request);
  asio::awaitable<Result<v1::ListResponse>> list(Caller caller, v1::ListRequest request);
  asio::awaitable<Result<v1::Resource>> create(Caller caller, v1::WriteRequest request);
  asio::awaitable<Result<v1::Resource>> update(Caller caller, v1::WriteRequest request);
  asio::awaitable<Result<v1::Resource>> upsert(Caller caller, v1::WriteRequest request);
  asio::awaitable<Result<v1::DeleteResponse>> remove(Caller caller, v1::DeleteRequest request);

 private:
  Status allow_secrets(const Caller& caller, v1::Verb verb, resource::Kind kind);
  // Whether the caller may make this change; ties the operation to what was looked at.
  asio::awaitable<Status> allow_write(const Caller& caller, const v1::Resource& resource,
                                      resource::Kind kind, store::Operation& operation);
  asio::awaitable<Status> allow_change(const Caller& caller, v1::Verb verb,
                                       store::Operation& operation, const resource::StoreKey& key);
  // Who changes a resource need not know its secrets: those not given stay as they are.
  asio::awaitable<Status> keep_secrets(v1::Resource& resource, resource::Kind kind,
                                       store::Operation& operation);
  asio::awaitable<Result<v1::Resource>> write(Caller caller, v1::WriteRequest request,
                                              store::Precondition precondition);
  asio::awaitable<Result<store::Revision>> commit(Caller caller, std::string_view verb,
                                                  store::Operation operation,
                                                  resource::StoreKey key);

  store::Store& store_;
  Gate& gate_;
  AuditService& audit_;
  ResourceLimits limits_;
};

// The resource in a stored item, its revision and expiry as the store has them. kDataLoss if the
// bytes are not a resource.
Result<v1::Resource> decode_item(const store::Item& item);

}  // namespace holdfast::api
