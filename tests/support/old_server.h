// A controller of the past, for tests of old and new together: a real gRPC server in front of a
// controller of today that leaves out what its version did not have. It knows no request_id and no
// page_revision, and its Init says nothing of the confirmed kinds.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::test {

struct OldServerTls {
  std::string chain_pem;
  std::string private_key_pem;
};

struct OldServerOptions {
  std::string listen = "127.0.0.1:0";  // or "unix:PATH"
  std::optional<OldServerTls> tls{};   // none: plaintext; clients' certificates are not looked at
  // False: from before partial success. It does not know `allow_partial_success`, and confirms all
  // or fails. True: it narrows, and Init lists what is confirmed.
  bool knows_partial_success = false;
  bool has_service_config = true;  // false: GetServiceConfig is UNIMPLEMENTED
  bool has_health = true;          // false: grpc.health.v1 is UNIMPLEMENTED
  // A kind it does not know: UNIMPLEMENTED where it is named, left out of a watch that allows it.
  std::string without_kind{};
};

struct OldServerStats {
  std::atomic<uint64_t> gets = 0;
  std::atomic<uint64_t> lists = 0;
  std::atomic<uint64_t> writes = 0;  // deletes as well
  std::atomic<uint64_t> watches = 0;
};

// Serves Resources, Events, Presence, Status, ServiceConfigDiscovery and grpc.health.v1. Its calls
// block threads of gRPC, one for each stream.
class OldServer {
 public:
  // Whoever calls is for the controller whom `controller` calls as.
  explicit OldServer(std::shared_ptr<grpc::Channel> controller, OldServerOptions options = {});
  ~OldServer();  // as stop()
  OldServer(const OldServer&) = delete;
  OldServer& operator=(const OldServer&) = delete;

  const std::string& address() const { return address_; }
  const OldServerStats& stats() const { return stats_; }
  // Ends every call and closes the port.
  void stop();

 private:
  OldServerOptions options_;
  OldServerStats stats_;
  std::string address_;
  std::vector<std::unique_ptr<grpc::Service>> fronts_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace holdfast::test
