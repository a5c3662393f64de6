// A whole controller in this process, with an authority, and everyone who may call it: a channel
// for each, over TLS with a real certificate where it has one.
#pragma once

#include <grpcpp/grpcpp.h>

#include <boost/asio/io_context.hpp>

#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "app/controller.h"
#include "base/clock.h"
#include "holdfast/v1/api.grpc.pb.h"
#include "holdfast/v1/identity.grpc.pb.h"
#include "support/temp_dir.h"

namespace holdfast::test {

// A new context for one call, with a deadline; waits for a listener that is about to open.
std::unique_ptr<grpc::ClientContext> patient();

inline constexpr const char* kPassword = "correct horse battery";

// One caller, named as a column of docs/permissions.md.
struct ClusterCaller {
  std::string column;
  identity::Role role = identity::Role::Nobody;
  std::string name{};                      // of the node or user
  std::shared_ptr<grpc::Channel> channel;  // tidy: shared, gRPC's own handle
};

class ClusterCallers {
 public:
  // Has the callers of every column of docs/permissions.md.
  ClusterCallers();
  ~ClusterCallers();
  ClusterCallers(const ClusterCallers&) = delete;
  ClusterCallers& operator=(const ClusterCallers&) = delete;

  const ClusterCaller& as(const std::string& column) const { return callers_.at(column); }
  const std::map<std::string, ClusterCaller>& all() const { return callers_; }

  // A user with these roles, as another caller: the column is its name.
  void add_user(const std::string& column, const std::vector<std::string>& roles);
  // As a controller, which may write everything. Requires: it works.
  v1::Resource upsert(const v1::Resource& resource);
  void remove_if_there(const std::string& kind, const std::string& name);
  // The secret of a token that joins 1000 agents.
  const std::string& agent_token() const { return agent_token_; }

 private:
  void add_node(v1::NodeRole role);
  std::string make_token(v1::NodeRole role);
  // Over TLS as whom `issue` gives a certificate for a request.
  template <typename Issue>
  void add_certified(ClusterCaller caller, const Issue& issue);

  TempDir folder_;
  SystemClock clock_;
  boost::asio::io_context loop_{1};
  std::unique_ptr<app::Controller> controller_;
  std::thread thread_;
  std::string tls_address_;
  std::string ca_pem_;
  std::string agent_token_;
  std::map<std::string, ClusterCaller> callers_;
};

// A key of its own, and a request for a certificate of it.
struct KeyAndRequest {
  std::string private_key_pem;
  std::string request_pem;
};
KeyAndRequest make_key_and_request();

}  // namespace holdfast::test
