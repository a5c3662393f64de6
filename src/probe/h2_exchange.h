// One request over HTTP/2 and its answer, over nghttp2: bytes in, bytes out. For HTTP probes and
// for gRPC, which is a request with a body and an answer with trailers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "probe/probe.h"

namespace holdfast::probe {

struct H2Request {
  std::vector<Header> headers{};  // the names in lower case, those with a colon first
  std::string body{};
};

// What decides of an answer: nothing else of it is kept.
struct H2Answer {
  int status = 0;  // of the final answer, once its head is there
  std::string location{};
  std::string content_type{};
  std::string grpc_status{};  // of the head or the trailers
  std::string body{};         // the first kKeptBodyBytes of it
  uint64_t body_bytes = 0;
  bool ended = false;  // it is whole
};

constexpr size_t kKeptBodyBytes = 4 * 1024;
constexpr size_t kMaxH2HeaderBytes = 8 * 1024;  // of a header that is kept

class H2Exchange {
 public:
  explicit H2Exchange(H2Request request);
  ~H2Exchange();
  H2Exchange(const H2Exchange&) = delete;
  H2Exchange& operator=(const H2Exchange&) = delete;

  // To be sent to the peer; once.
  std::string output();
  // kDataLoss if the peer does not speak HTTP/2, kUnavailable if it gave up on the request.
  Status put(std::string_view bytes);

  // It has shown that it speaks HTTP/2.
  bool peer_ready() const;
  const H2Answer& answer() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace holdfast::probe
