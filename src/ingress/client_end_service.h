// A client's plain connection as one end of a stream. It is nobody's but its own until the stream
// is open, so that a client whose service cannot be reached can still be told.
#pragma once

#include <memory>
#include <string>

#include "net/connection_limits.h"
#include "net/http_stream.h"
#include "tunnel/end_report.h"
#include "tunnel/link_service.h"

namespace holdfast::ingress {

class ClientEnd final : public tunnel::StreamEnd {
 public:
  struct Parts {
    net::StreamSocket socket;
    std::string early{};  // read already; goes before all else
    net::ConnectionSlot slot{};
    tunnel::OnEnded on_ended{};  // of the stream, if there was one
  };
  explicit ClientEnd(Parts parts);
  ~ClientEnd() override;

  // Requires: not attached.
  net::StreamSocket take_socket();
  net::ConnectionSlot take_slot();

  void attached(tunnel::Link& link, tunnel::StreamId stream) override;
  Pulled pull(std::span<char> into) override { return inner_->pull(into); }
  ssize_t push(std::string_view bytes) override { return inner_->push(bytes); }
  ssize_t push_parts(std::span<const std::string_view> parts) override {
    return inner_->push_parts(parts);
  }
  void push_end() override { inner_->push_end(); }
  void reset(tunnel::ResetCode code, std::string_view why) override;

 private:
  Parts parts_;
  std::unique_ptr<tunnel::StreamEnd> inner_;  // once it is attached
};

}  // namespace holdfast::ingress
