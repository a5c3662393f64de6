// A gRPC server in this process that stands for one controller: it tells its service config and its
// health, answers Get with its own name, keeps a watch open, and misbehaves when told to.
#pragma once

#include <grpcpp/server.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "grpc/health/v1/health.grpc.pb.h"
#include "holdfast/v1/api.grpc.pb.h"
#include "holdfast/v1/node.grpc.pb.h"

namespace holdfast::test {

struct MemberOptions {
  std::string mode = "reconnect";
  bool knows_discovery = true;
  bool knows_health = true;
  int port = 0;  // zero: any
};

class Member {
 public:
  Member(std::string name, MemberOptions options);
  ~Member();

  const std::string& address() const { return address_; }
  int port() const { return port_; }

  std::atomic<bool> serving = true;
  std::atomic<bool> unavailable = false;         // Get is answered so
  std::atomic<bool> refuses = false;             // every call but health, as "unauthenticated"
  std::atomic<bool> silent = false;              // nothing is answered, not even health
  std::atomic<bool> stuck_in_discovery = false;  // only GetServiceConfig is not answered
  // As half of a pair: its epoch, sent with every answer; zero: none.
  std::atomic<uint64_t> epoch = 0;
  std::atomic<bool> passive = false;  // every call is refused with HF4101; NOT_SERVING
  std::atomic<int> beat_ms = 0;       // how often a health watch repeats itself; zero: never
  void set_active(const std::string& address);  // whom it names
  std::atomic<uint64_t> heard_epoch = 0;        // the highest that a caller named
  std::atomic<int> refusals = 0;                // with HF4101
  std::atomic<int> gets = 0;
  std::atomic<int> health_watches = 0;  // open now: one per connection in use

 private:
  // What goes with every answer of half of a pair; the refusal if it is passive.
  grpc::Status introduce(grpc::ServerContext& context);
  // Until it speaks again; false if the caller gave up.
  static bool wait_while(const std::atomic<bool>& condition, const grpc::ServerContext& context);

  class Resources final : public v1::Resources::Service {
   public:
    explicit Resources(Member& member) : member_(member) {}
    grpc::Status Get(grpc::ServerContext* context, const v1::GetRequest* request,
                     v1::Resource* response) override;

   private:
    Member& member_;
  };
  // Sends a message whenever the member is asked for its name, until the caller leaves.
  class Events final : public v1::Events::Service {
   public:
    explicit Events(Member& member) : member_(member) {}
    grpc::Status Watch(grpc::ServerContext* context, const v1::WatchRequest* request,
                       grpc::ServerWriter<v1::WatchResponse>* stream) override;

   private:
    Member& member_;
  };
  class Discovery final : public v1::ServiceConfigDiscovery::Service {
   public:
    explicit Discovery(Member& member) : member_(member) {}
    grpc::Status GetServiceConfig(grpc::ServerContext* context,
                                  const v1::GetServiceConfigRequest* request,
                                  v1::GetServiceConfigResponse* response) override;

   private:
    Member& member_;
  };
  class Health final : public grpc::health::v1::Health::Service {
   public:
    explicit Health(Member& member) : member_(member) {}
    grpc::Status Check(grpc::ServerContext* context,
                       const grpc::health::v1::HealthCheckRequest* request,
                       grpc::health::v1::HealthCheckResponse* response) override;
    grpc::Status Watch(grpc::ServerContext* context,
                       const grpc::health::v1::HealthCheckRequest* request,
                       grpc::ServerWriter<grpc::health::v1::HealthCheckResponse>* stream) override;

   private:
    Member& member_;
  };

  std::string name_;
  std::mutex mutex_;
  std::string active_;
  MemberOptions options_;
  int port_ = 0;
  std::string address_;
  std::atomic<bool> stopping_ = false;
  Resources resources_{*this};
  Events events_{*this};
  Discovery discovery_{*this};
  Health health_{*this};
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace holdfast::test
