// A gRPC channel to one address. Every channel has its own connection: by default gRPC shares one
// among channels to the same address, and then failing over between channels does nothing.
#pragma once

#include <grpcpp/channel.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"

namespace holdfast::rpc {

// All in PEM. Both of certificate and key, or neither.
struct TlsOptions {
  std::string ca_pem{};  // empty: the system's roots
  std::string certificate_pem{};
  std::string private_key_pem{};
  std::string server_name{};  // expected in the peer's certificate; empty: the address's host
};

struct TlsFiles {
  std::string ca{};  // an empty path leaves that part empty
  std::string certificate{};
  std::string private_key{};
  std::string server_name{};
};
// Reads the files, blocking. kNotFound, kFailedPrecondition or kInvalidArgument naming the file.
Result<TlsOptions> load_tls(const TlsFiles& files);

struct ChannelOptions {
  std::optional<TlsOptions> tls{};  // none: plaintext
  // A peer that answers no ping within the timeout is gone, even if its kernel still acknowledges.
  Duration keepalive_interval = std::chrono::seconds(10);
  Duration keepalive_timeout = std::chrono::seconds(3);
  Duration connect_timeout = std::chrono::seconds(2);
  Duration longest_reconnect_wait = std::chrono::seconds(2);
  size_t max_message_bytes = 16 << 20;  // either way
};

// Connects when first used.
std::shared_ptr<grpc::Channel> make_channel(const std::string& address,
                                            const ChannelOptions& options);

}  // namespace holdfast::rpc
