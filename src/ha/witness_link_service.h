// The way to the witness: each question has a short timeout. Half asks now and then of its own
// accord, so that the connection is warm when it matters.
#pragma once

#include <grpcpp/channel.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "ha/protocol.h"
#include "holdfast/v1/pair.grpc.pb.h"
#include "rpc/channel.h"

namespace holdfast::ha {

namespace asio = boost::asio;

struct WitnessLinkOptions {
  std::string address{};  // HOST:PORT
  Duration timeout = std::chrono::milliseconds(500);
};

class WitnessLinkService {
 public:
  WitnessLinkService(const Clock& clock, WitnessLinkOptions options);

  void set_tls(rpc::TlsOptions tls);
  // An error: nothing is known of what became of it.
  asio::awaitable<Result<WitnessAnswer>> ask(std::optional<RecordChange> change);

  const std::string& address() const { return options_.address; }
  // Since its last answer; since the start if there was none.
  Duration silence() const { return clock_.now() - heard_; }
  bool was_heard() const { return was_heard_; }  // in this life
  const Status& failure() const { return failure_; }
  uint64_t unanswered() const { return unanswered_; }

 private:
  asio::awaitable<Result<WitnessAnswer>> read();
  asio::awaitable<Result<WitnessAnswer>> change(RecordChange wanted);
  void note(const Status& status);

  const Clock& clock_;
  WitnessLinkOptions options_;
  std::unique_ptr<v1::Witness::Stub> stub_;
  Time heard_;
  bool was_heard_ = false;
  Status failure_;
  uint64_t unanswered_ = 0;
};

}  // namespace holdfast::ha
