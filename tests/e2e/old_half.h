// The backup of a pair as another version would be it, in this process: it says which version it is
// and which data it reads, takes what it is sent, and remembers only where that ends, and the
// latest beat of the primary. It leads when it is handed over to, and hands back.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "holdfast/v1/pair.grpc.pb.h"

namespace holdfast::test {

struct OldHalfOptions {
  std::string data_dir{};  // that a controller joined in
  std::string primary{};   // its address
  std::string listen{};
  std::string version = "0.0.9";
  uint32_t schema_min = 1;
  uint32_t schema_max = 1;
  v1::PairMode mode = v1::PAIR_MODE_SYNC;
  std::chrono::milliseconds beat{50};
};

class OldHalf final : public v1::Pair::Service {
 public:
  // Answers when it returns.
  explicit OldHalf(OldHalfOptions options);
  ~OldHalf() override;

  // Of what it was sent.
  int64_t revision();
  v1::Beat heard();
  // Waits until it leads.
  bool leads();
  // As the active half: one change that removes a key it was sent, shipped to the primary. False:
  // the primary does not have it on its disk afterwards. Requires: it leads.
  bool remove(const std::string& key);
  // To the primary. Requires: it leads, and the primary has everything.
  void hand_over();

  grpc::Status Beats(grpc::ServerContext* context, const v1::BeatsRequest* request,
                     grpc::ServerWriter<v1::Beat>* writer) override;
  grpc::Status Replicate(grpc::ServerContext* context, const v1::ReplicateRequest* request,
                         v1::ReplicateResponse* response) override;

 private:
  v1::Beat next_beat();
  void hear(const v1::Beat& beat);
  void follow_primary();
  // The primary's answer; an empty one if there is none.
  v1::ReplicateResponse replicate(const v1::ReplicateRequest& request);
  bool pause(std::chrono::milliseconds length);  // false: it ends

  const OldHalfOptions options_;
  std::string identity_;
  std::string ca_;
  std::mutex mutex_;
  std::condition_variable ending_;
  bool ends_ = false;
  v1::Beat beat_;
  v1::Beat heard_;       // the primary's latest
  v1::PairHead copied_;  // of the copy that is coming in
  std::unique_ptr<v1::Pair::Stub> primary_;
  std::unique_ptr<grpc::Server> server_;
  grpc::ClientContext* following_ = nullptr;
  std::thread follower_;
};

}  // namespace holdfast::test
