#include "ingress/client_end_service.h"

#include "base/check.h"
#include "tunnel/socket_end_service.h"

namespace holdfast::ingress {

ClientEnd::ClientEnd(Parts parts) : parts_(std::move(parts)) {}

ClientEnd::~ClientEnd() = default;

net::StreamSocket ClientEnd::take_socket() {
  HF_CHECK(inner_ == nullptr, "an end that is attached has no socket to give");
  return std::move(parts_.socket);
}

net::ConnectionSlot ClientEnd::take_slot() {
  return std::move(parts_.slot);
}

void ClientEnd::attached(tunnel::Link& link, tunnel::StreamId stream) {
  inner_ = std::make_unique<tunnel::SocketEnd>(
      std::move(parts_.socket), tunnel::SocketEndOptions{.already_read = std::move(parts_.early),
                                                         .on_ended = std::move(parts_.on_ended)});
  inner_->attached(link, stream);
}

void ClientEnd::reset(tunnel::ResetCode code, std::string_view why) {
  if (inner_ != nullptr) inner_->reset(code, why);
}

}  // namespace holdfast::ingress
