// Every call that is not about a resource, asked so that it succeeds if it is allowed.
#pragma once

#include <grpcpp/grpcpp.h>

#include <string>
#include <vector>

#include "integration/cluster_callers.h"

namespace holdfast::test {

// The outcome of a stream: OK if it gave anything.
template <typename Response, typename Stream>
grpc::Status outcome(grpc::ClientContext& context, Stream& stream) {
  Response response;
  const bool got = stream.Read(&response);
  if (got) context.TryCancel();
  const grpc::Status ended = stream.Finish();
  return got ? grpc::Status::OK : ended;
}

// A unary call of a stub, as a function of its request.
template <typename Stub, typename Request, typename Response>
grpc::Status ask(Stub stub,
                 grpc::Status (Stub::element_type::*method)(grpc::ClientContext*, const Request&,
                                                            Response*),
                 const Request& request) {
  Response response;
  return ((*stub).*method)(patient().get(), request, &response);
}

class EveryCall {
 public:
  explicit EveryCall(const ClusterCallers& cluster) : cluster_(cluster) {}

  using Run = grpc::Status (EveryCall::*)(const ClusterCaller&);
  struct Rpc {
    std::string row;     // of the table of calls
    std::string method;  // as in the descriptors
    Run run;
  };
  static std::vector<Rpc> all();

  // The services that reflection lists, and how it ended.
  static std::vector<std::string> served(const ClusterCaller& who, grpc::Status& status);

 private:
  grpc::Status health(const ClusterCaller& who);
  grpc::Status watch_health(const ClusterCaller& who);
  grpc::Status reflection(const ClusterCaller& who);
  grpc::Status service_config(const ClusterCaller& who);
  grpc::Status status(const ClusterCaller& who);
  grpc::Status who_am_i(const ClusterCaller& who);
  grpc::Status get_authority(const ClusterCaller& who);
  grpc::Status init(const ClusterCaller& who);
  grpc::Status create_token(const ClusterCaller& who);
  grpc::Status join(const ClusterCaller& who);
  grpc::Status renew(const ClusterCaller& who);
  grpc::Status login(const ClusterCaller& who);
  grpc::Status issue_user(const ClusterCaller& who);
  grpc::Status set_password(const ClusterCaller& who);
  grpc::Status rotate(const ClusterCaller& who);
  grpc::Status announce(const ClusterCaller& who);
  grpc::Status goodbye(const ClusterCaller& who);
  grpc::Status report(const ClusterCaller& who);
  grpc::Status get_pair(const ClusterCaller& who);
  grpc::Status switch_over(const ClusterCaller& who);
  grpc::Status promote(const ClusterCaller& who);
  grpc::Status list_divergences(const ClusterCaller& who);
  grpc::Status get_divergence(const ClusterCaller& who);
  grpc::Status resolve_divergence(const ClusterCaller& who);

  const ClusterCallers& cluster_;
  uint64_t reports_ = 0;
};

}  // namespace holdfast::test
