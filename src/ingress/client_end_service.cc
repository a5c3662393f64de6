#include "ingress/client_end_service.h"

#include <cstring>

#include "base/check.h"
#include "tunnel/socket_end_service.h"

namespace holdfast::ingress {

ClientEnd::ClientEnd(Parts parts) : parts_(std::move(parts)) {}

ClientEnd::~ClientEnd() = default;

net::StreamSocket ClientEnd::take_socket() {
  HF_CHECK(inner_ == nullptr, "an end that is attached has no socket to give");
  return std::move(parts_.socket);
}

Slot ClientEnd::take_slot() {
  return std::move(parts_.slot);
}

void ClientEnd::attached(tunnel::Link& link, tunnel::StreamId stream) {
  inner_ = tunnel::make_socket_end(std::move(parts_.socket), std::move(parts_.on_ended));
  inner_->attached(link, stream);
  if (!parts_.early.empty()) link.ready(stream);
}

tunnel::StreamEnd::Pulled ClientEnd::pull(std::span<char> into) {
  if (parts_.early.empty()) return inner_->pull(into);
  const size_t bytes = std::min(into.size(), parts_.early.size() - early_sent_);
  std::memcpy(into.data(), parts_.early.data() + early_sent_, bytes);
  early_sent_ += bytes;
  if (early_sent_ < parts_.early.size()) return {.bytes = bytes};
  parts_.early = std::string();
  if (bytes == into.size()) return {.bytes = bytes};
  Pulled rest = inner_->pull(into.subspan(bytes));
  rest.bytes += bytes;
  return rest;
}

ssize_t ClientEnd::push(std::string_view bytes) {
  return inner_->push(bytes);
}

void ClientEnd::push_end() {
  inner_->push_end();
}

void ClientEnd::reset(tunnel::ResetCode code, std::string_view why) {
  if (inner_ != nullptr) inner_->reset(code, why);
}

}  // namespace holdfast::ingress
