// A connection to a controller for one command: plain blocking calls with a deadline.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "cli/errors.h"
#include "holdfast/v1/api.grpc.pb.h"
#include "holdfast/v1/identity.grpc.pb.h"
#include "holdfast/v1/node.grpc.pb.h"
#include "rpc/channel.h"
#include "rpc/status.h"

namespace holdfast::cli {

struct ClientOptions {
  std::string server{};                         // "unix:/path" or "host:port"
  std::optional<rpc::TlsOptions> tls{};         // none: plain, for unix sockets only
  Duration timeout = std::chrono::seconds(10);  // of one call; above the controller's own
  Duration wait{0};  // how long a controller that is not there yet is waited for
};

class Client {
 public:
  explicit Client(ClientOptions options);

  // Waits for the controller if the options say so; kUnavailable if it did not come.
  Status connect();

  Result<v1::Resource> get(const v1::GetRequest& request);
  Result<v1::ListResponse> list(const v1::ListRequest& request);
  Result<v1::Resource> create(const v1::WriteRequest& request);
  Result<v1::Resource> update(const v1::WriteRequest& request);
  Result<v1::DeleteResponse> remove(const v1::DeleteRequest& request);
  Result<v1::GetStatusResponse> status();

  // Any call of Identity: client.identity(&v1::Identity::Stub::Join, request).
  template <typename Request, typename Response>
  Result<Response> identity(grpc::Status (v1::Identity::Stub::*method)(grpc::ClientContext*,
                                                                       const Request&, Response*),
                            const Request& request) {
    return call(*identity_, method, request);
  }

  // Calls `on_event` until it returns false or the stream ends; OK in the first case.
  // kDeadlineExceeded if the first event takes longer than one call may.
  Status watch(const v1::WatchRequest& request,
               const std::function<bool(const v1::Event&)>& on_event);

  // For explain(): whom we asked, and whether it is there.
  Asked asked() const;
  const std::string& server() const { return options_.server; }

 private:
  void set_deadline(grpc::ClientContext& context) const;

  template <typename Stub, typename Request, typename Response>
  Result<Response> call(Stub& stub,
                        grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                     Response*),
                        const Request& request) {
    grpc::ClientContext context;
    set_deadline(context);
    Response response;
    const grpc::Status status = (stub.*method)(&context, request, &response);
    if (!status.ok()) return rpc::from_grpc(status);
    return response;
  }

  ClientOptions options_;
  std::shared_ptr<grpc::Channel> channel_;  // tidy: shared, gRPC's own handle
  std::unique_ptr<v1::Resources::Stub> resources_;
  std::unique_ptr<v1::Events::Stub> events_;
  std::unique_ptr<v1::Identity::Stub> identity_;
  std::unique_ptr<v1::Status::Stub> status_;
};

}  // namespace holdfast::cli
