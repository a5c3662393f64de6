#include "rpc/channel.h"

#include <fmt/format.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>

#include <fstream>
#include <iterator>

#include "base/bytes.h"

namespace holdfast::rpc {
namespace {

constexpr size_t kMaxPemBytes = 1 << 20;

int milliseconds(Duration duration) {
  return static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

Result<std::string> read_pem(const std::string& path) {
  if (path.empty()) return std::string();
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(fmt::format("cannot open {}", in_quotes(path, 256)));
  std::string text(kMaxPemBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() > kMaxPemBytes || text.find("-----BEGIN ") == std::string::npos) {
    return absl::InvalidArgumentError(fmt::format("{} is not a PEM file", in_quotes(path, 256)));
  }
  return text;
}

std::shared_ptr<grpc::ChannelCredentials> credentials(const std::optional<TlsOptions>& tls) {
  if (!tls) return grpc::InsecureChannelCredentials();
  return grpc::SslCredentials({.pem_root_certs = tls->ca_pem,
                               .pem_private_key = tls->private_key_pem,
                               .pem_cert_chain = tls->certificate_pem});
}

// gRPC 1.51 stops its callback threads when the last channel that used them is destroyed, and joins
// them there. The last reference to a channel may be that of a call's context, which dies on such a
// thread: it would join itself and free its queue twice. So one channel, which goes nowhere, is
// kept for the life of the process; this is the one object in the tree that is never destroyed.
void keep_callback_threads() {
  struct Nowhere {
    grpc::ClientContext context;
    grpc::Slice nothing;
    grpc::ByteBuffer request{&nothing, 1};
    grpc::ByteBuffer response;
  };
  static const auto* const kept = [] {
    auto* channel = new std::shared_ptr<grpc::Channel>(
        grpc::CreateChannel("unix:/nowhere", grpc::InsecureChannelCredentials()));
    auto call = std::make_shared<Nowhere>();
    call->context.set_deadline(std::chrono::system_clock::now());
    grpc::GenericStub(*channel).UnaryCall(&call->context, "/nowhere", {}, &call->request,
                                          &call->response, [call](const grpc::Status&) {});
    return channel;
  }();
  static_cast<void>(kept);
}

}  // namespace

Result<TlsOptions> load_tls(const TlsFiles& files) {
  if (files.certificate.empty() != files.private_key.empty()) {
    return absl::FailedPreconditionError("a certificate and its private key come together");
  }
  TlsOptions options{.server_name = files.server_name};
  TRY(options.ca_pem, read_pem(files.ca));
  TRY(options.certificate_pem, read_pem(files.certificate));
  TRY(options.private_key_pem, read_pem(files.private_key));
  return options;
}

std::shared_ptr<grpc::Channel> make_channel(const std::string& address,
                                            const ChannelOptions& options) {
  keep_callback_threads();
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // else one is asked even for loopback
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, milliseconds(options.keepalive_interval));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, milliseconds(options.keepalive_timeout));
  // By default gRPC stops pinging an idle stream after two pings, and a dead peer goes unnoticed.
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, milliseconds(options.connect_timeout));
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, milliseconds(options.longest_reconnect_wait));
  arguments.SetMaxReceiveMessageSize(static_cast<int>(options.max_message_bytes));
  arguments.SetMaxSendMessageSize(static_cast<int>(options.max_message_bytes));
  if (options.tls && !options.tls->server_name.empty()) {
    arguments.SetSslTargetNameOverride(options.tls->server_name);
  }
  return grpc::CreateCustomChannel(address, credentials(options.tls), arguments);
}

}  // namespace holdfast::rpc
