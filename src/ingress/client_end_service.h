// A client's plain connection as one end of a stream. It is nobody's but its own until the stream
// is open, so that a client whose service cannot be reached can still be told; and what was read to
// find out where it wants to go is sent before all else.
#pragma once

#include <memory>
#include <string>

#include "ingress/connection_limits.h"
#include "net/http_stream.h"
#include "tunnel/end_report.h"
#include "tunnel/link_service.h"

namespace holdfast::ingress {

class ClientEnd final : public tunnel::StreamEnd {
 public:
  struct Parts {
    net::StreamSocket socket;
    std::string early{};  // read already
    Slot slot{};
    tunnel::OnEnded on_ended{};  // of the stream, if there was one
  };
  explicit ClientEnd(Parts parts);
  ~ClientEnd() override;

  // Requires: not attached.
  net::StreamSocket take_socket();
  Slot take_slot();

  void attached(tunnel::Link& link, tunnel::StreamId stream) override;
  Pulled pull(std::span<char> into) override;
  ssize_t push(std::string_view bytes) override;
  void push_end() override;
  void reset(tunnel::ResetCode code, std::string_view why) override;

 private:
  Parts parts_;
  size_t early_sent_ = 0;
  std::unique_ptr<tunnel::StreamEnd> inner_;  // once it is attached
};

}  // namespace holdfast::ingress
