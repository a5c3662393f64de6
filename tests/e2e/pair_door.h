// Two ways to ask a pair of controllers something, each a blocking call: as clients do, who follow
// whichever half serves, and at one half, whatever it is. The second kind finds the half that
// serves although it should not.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "holdfast/v1/api.grpc.pb.h"
#include "rpc/channel.h"
#include "rpc/pick_healthy_service.h"

namespace holdfast::test {

namespace asio = boost::asio;

struct DoorAnswer {
  Status status;
  v1::Resource resource;
  uint64_t epoch = 0;  // that came with the answer; 0: none
};

class PairDoor {
 public:
  enum class Write : uint8_t { Upsert, Update };

  virtual ~PairDoor() = default;
  virtual DoorAnswer get(const v1::GetRequest& request) = 0;
  virtual DoorAnswer write(Write method, const v1::WriteRequest& request) = 0;
  virtual Status remove(const v1::DeleteRequest& request) = 0;
};

// At one half only, each call once.
class HalfDoor final : public PairDoor {
 public:
  HalfDoor(const std::string& address, rpc::TlsOptions tls, Duration timeout);

  DoorAnswer get(const v1::GetRequest& request) override;
  DoorAnswer write(Write method, const v1::WriteRequest& request) override;
  Status remove(const v1::DeleteRequest& request) override;

 private:
  std::unique_ptr<v1::Resources::Stub> stub_;
  Duration timeout_;
};

struct FollowingOptions {
  std::vector<std::string> addresses{};
  rpc::TlsOptions tls{};
  Duration timeout = std::chrono::seconds(10);
  rpc::PickHealthyServiceOptions link{};
};

// Through the client library; for any number of threads at once.
class FollowingDoor final : public PairDoor {
 public:
  explicit FollowingDoor(FollowingOptions options);
  ~FollowingDoor() override;

  DoorAnswer get(const v1::GetRequest& request) override;
  DoorAnswer write(Write method, const v1::WriteRequest& request) override;
  Status remove(const v1::DeleteRequest& request) override;

 private:
  template <typename T>
  T on_loop(asio::awaitable<T> work);
  rpc::PickedCall how() const;

  const FollowingOptions options_;
  const SystemClock clock_;
  asio::io_context loop_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  rpc::PickHealthyService link_;
  std::thread thread_;
};

}  // namespace holdfast::test
