// A gRPC client for tests: blocking calls on a connection of its own, writes by the thousand, and
// watches that are read in the background.
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "holdfast/v1/api.grpc.pb.h"
#include "rpc/channel.h"

namespace holdfast::test {

struct Answer {
  grpc::Status status;
  int64_t revision = 0;
};

struct ListOptions {
  std::string kind;
  std::map<std::string, std::string> labels{};
  uint32_t page_size = 0;
  std::string page_token{};
};

class ApiClient {
 public:
  // Without `tls` on the unix socket only.
  explicit ApiClient(const std::string& server, std::optional<rpc::TlsOptions> tls = {});
  // On a connection that somebody else made.
  explicit ApiClient(std::shared_ptr<grpc::Channel> channel);  // tidy: shared, gRPC's own handle

  Answer get(const std::string& kind, const std::string& name);
  Answer upsert(const v1::Resource& resource);
  Answer remove(const std::string& kind, const std::string& name);
  // Requires: the call succeeds.
  v1::ListResponse list_page(const ListOptions& options);
  grpc::Status list_status(const ListOptions& options);
  // make(0) to make(count - 1), many at once; how many were refused.
  size_t upsert_many(size_t count, const std::function<v1::Resource(size_t)>& make);

  v1::Resources::Stub& resources() { return *resources_; }
  v1::Events::Stub& events() { return *events_; }
  const std::shared_ptr<grpc::Channel>& channel() const {  // tidy: shared, gRPC's own handle
    return channel_;
  }

 private:
  std::shared_ptr<grpc::Channel> channel_;  // tidy: shared, gRPC's own handle
  std::unique_ptr<v1::Resources::Stub> resources_;
  std::unique_ptr<v1::Events::Stub> events_;
};

struct SeenEvent {
  v1::EventType type = v1::EVENT_TYPE_INIT;
  std::string kind;
  std::string name;
  int64_t revision = 0;
  std::vector<std::string> confirmed;  // with Init, the kinds
};

// A Watch, read by a thread until it ends or the reader is destroyed.
class WatchReader {
 public:
  WatchReader(ApiClient& client, const v1::WatchRequest& request);
  ~WatchReader();
  WatchReader(const WatchReader&) = delete;
  WatchReader& operator=(const WatchReader&) = delete;

  // Whether so many events have come within ten seconds or so; Init counts.
  bool wait_for(size_t count);
  std::vector<SeenEvent> events() const;
  // Without Init.
  std::vector<SeenEvent> changes() const;
  size_t count() const;
  // Cancels it if it still runs; how it ended.
  grpc::Status end();
  // How it ended by itself; DEADLINE_EXCEEDED if it did not within ten seconds.
  grpc::Status wait_until_it_ends();

 private:
  void read();

  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<v1::WatchResponse>> stream_;
  mutable std::mutex mutex_;
  std::vector<SeenEvent> seen_;
  grpc::Status status_;
  bool ended_ = false;
  std::thread thread_;
};

v1::Resource service(const std::string& name, std::map<std::string, std::string> labels = {});
v1::WatchRequest watch_request(const std::vector<std::string>& kinds, int64_t after_revision = 0);

}  // namespace holdfast::test
