// Get, list, create, update, upsert and delete over the store: what every way into the controller
// (gRPC, HTTP) answers with. Checks what the caller may and writes the audit; knows no transport.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "api/audit_service.h"
#include "api/gate.h"
#include "api/request_records.h"
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

struct ResourceStats {
  uint64_t repeated = 0;  // writes answered that had been applied before
};

class ResourceService {
 public:
  // All outlive it.
  struct Parts {
    store::Store& store;
    Gate& gate;
    AuditService& audit;
    const Clock& clock;
  };
  ResourceService(const Parts& parts, ResourceLimits limits)
      : store_(parts.store),
        gate_(parts.gate),
        audit_(parts.audit),
        limits_(limits),
        records_(parts.store, parts.clock) {}

  asio::awaitable<Result<v1::Resource>> get(Caller caller, v1::GetRequest request);
  asio::awaitable<Result<v1::ListResponse>> list(Caller caller, v1::ListRequest request);
  // A write with a request_id is applied once, however often and by whichever controller it is
  // carried out, and answered the same each time (request_records.h).
  asio::awaitable<Result<v1::Resource>> create(Caller caller, v1::WriteRequest request);
  asio::awaitable<Result<v1::Resource>> update(Caller caller, v1::WriteRequest request);
  asio::awaitable<Result<v1::Resource>> upsert(Caller caller, v1::WriteRequest request);
  asio::awaitable<Result<v1::DeleteResponse>> remove(Caller caller, v1::DeleteRequest request);

  const ResourceStats& stats() const { return stats_; }

 private:
  // One change on its way to the store.
  struct Intent {
    Caller caller;
    std::string_view verb;  // for the audit
    resource::StoreKey key;
    store::Operation operation{};
    MarkedRequest request{};
  };

  Status allow_secrets(const Caller& caller, v1::Verb verb, resource::Kind kind);
  // Whether the caller may write this, whatever is there now.
  Status allow_write(const Caller& caller, const v1::Resource& resource, resource::Kind kind,
                     store::Precondition precondition);
  // Whether it may change what is there; ties the operation to what was looked at.
  asio::awaitable<Status> allow_change(Intent& intent);
  // Who changes a resource need not know its secrets: those not given stay as they are.
  asio::awaitable<Status> keep_secrets(Intent& intent, v1::Resource& resource);
  asio::awaitable<Result<v1::Resource>> write(Caller caller, v1::WriteRequest request,
                                              store::Precondition precondition);
  // The revision at which it is, or was before, applied. No resource: it is a delete.
  asio::awaitable<Result<store::Revision>> apply_once(Intent intent, const v1::Resource* resource);
  asio::awaitable<Result<store::Revision>> apply(Intent& intent, const v1::Resource* resource);
  asio::awaitable<Result<store::Revision>> commit(Intent& intent);

  store::Store& store_;
  Gate& gate_;
  AuditService& audit_;
  ResourceLimits limits_;
  RequestRecords records_;
  ResourceStats stats_;
};

// The resource in a stored item, its revision and expiry as the store has them. kDataLoss if the
// bytes are not a resource.
Result<v1::Resource> decode_item(const store::Item& item);

}  // namespace holdfast::api
