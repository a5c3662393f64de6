#include "api/grpc_server.h"

#include <fmt/format.h>
#include <grpcpp/impl/codegen/service_type.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <thread>

#include "base/reason.h"

namespace holdfast::api {
namespace {

// What running calls have to end by themselves when the server stops.
constexpr std::chrono::seconds kGrace(1);
constexpr unsigned kRereadSeconds = 1;

int whole_milliseconds(Duration duration) {
  return static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

// The same share as HTTP has.
net::ConnectionBounds bounds(size_t max_connections) {
  return {.max_connections = max_connections,
          .max_connections_per_address = std::max<size_t>(1, max_connections / 4 * 3)};
}

using Count = std::shared_ptr<std::atomic<uint64_t>>;  // tidy: shared, gRPC's threads count

// gRPC asks it once a handshake is done; it only counts.
class CountHandshakes final : public grpc::experimental::ExternalCertificateVerifier {
 public:
  explicit CountHandshakes(Count count) : count_(std::move(count)) {}
  bool Verify(grpc::experimental::TlsCustomVerificationCheckRequest* /*request*/,
              std::function<void(grpc::Status)> /*callback*/, grpc::Status* status) override {
    *count_ += 1;
    *status = grpc::Status::OK;
    return true;  // done already
  }
  void Cancel(grpc::experimental::TlsCustomVerificationCheckRequest* /*request*/) override {}

 private:
  Count count_;
};

// Certificates of clients are asked for, not judged here: the gate does that for each call, so that
// a refusal has a reason, goes to the audit, and follows the authority at once. That the client has
// the key is proved by TLS itself.
std::shared_ptr<grpc::ServerCredentials> credentials(const std::string& identity_file,
                                                     const Count& handshakes) {
  namespace tls = grpc::experimental;
  tls::TlsServerCredentialsOptions options(std::make_shared<tls::FileWatcherCertificateProvider>(
      identity_file, identity_file, kRereadSeconds));
  options.watch_identity_key_cert_pairs();
  options.set_cert_request_type(GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_BUT_DONT_VERIFY);
  options.set_check_call_host(false);
  options.set_certificate_verifier(
      tls::ExternalCertificateVerifier::Create<CountHandshakes>(handshakes));
  return tls::TlsServerCredentials(options);
}

}  // namespace

GrpcServer::GrpcServer(const asio::any_io_executor& loop, GrpcServerOptions options, Gate& gate,
                       const MakeFronts& make)
    : loop_(loop),
      options_(std::move(options)),
      room_(loop, gate,
            {.max_running = options_.max_calls_in_flight,
             .local = options_.identity_file.empty(),
             .pair = options_.pair}),
      fronts_(make(room_)),
      handshakes_(std::make_shared<std::atomic<uint64_t>>(0)),
      listener_(loop, bounds(options_.max_connections), [this](int socket) {
        grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
        connection.fd = socket;
        acceptor_->HandleNewConnection(&connection);
      }) {}

GrpcServer::~GrpcServer() = default;

Result<std::unique_ptr<GrpcServer>> GrpcServer::start(const asio::any_io_executor& loop,
                                                      GrpcServerOptions options,
                                                      const GrpcServices& services) {
  return start(loop, std::move(options), services.gate,
               [&services](CallRoom& room) { return make_fronts(room, services); });
}

Result<std::unique_ptr<GrpcServer>> GrpcServer::start(const asio::any_io_executor& loop,
                                                      GrpcServerOptions options, Gate& gate,
                                                      const MakeFronts& make) {
  std::unique_ptr<GrpcServer> server(new GrpcServer(loop, std::move(options), gate, make));
  TRY_OK(server->listen());
  return server;
}

Status GrpcServer::listen() {
  const bool plain = options_.identity_file.empty();
  for (const std::string& address : options_.listen) {
    if (plain) break;
    TRY(const int port, listener_.bind(address));
    ports_.push_back(port);
  }
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(options_.max_message_bytes);
  grpc::ResourceQuota quota;
  quota.Resize(options_.max_buffered_bytes);
  builder.SetResourceQuota(quota);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, options_.max_streams_per_connection);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                             whole_milliseconds(options_.handshake_timeout));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS,
                             whole_milliseconds(options_.idle_timeout));
  // Our own clients ping every ten seconds; who pings much more is cut off.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5'000);
  if (plain) builder.AddListeningPort(options_.listen.front(), grpc::InsecureServerCredentials());
  if (!plain) {
    acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
        credentials(options_.identity_file, handshakes_));
  }
  for (const std::unique_ptr<grpc::Service>& front : fronts_) builder.RegisterService(front.get());
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) {
    return coded(absl::StatusCode::kUnavailable, "HF1106",
                 fmt::format("cannot listen on {}", fmt::join(options_.listen, ", ")));
  }
  if (!plain) listener_.start();
  return absl::OkStatus();
}

asio::awaitable<void> GrpcServer::stop() {
  // Shutdown() blocks until every call is finished, and calls finish on this loop.
  co_await listener_.stop();
  bool done = false;
  asio::steady_timer grace(loop_, kGrace);
  std::thread stopping([this, &done, &grace, guard = asio::make_work_guard(loop_)] {
    server_->Shutdown(std::chrono::system_clock::now() + kGrace);
    asio::post(loop_, [&done, &grace] {
      done = true;
      grace.cancel();
    });
  });
  while (!done) {
    co_await grace.async_wait(asio::as_tuple(asio::use_awaitable));
    if (done) break;
    co_await room_.join();  // what still waits for the store
    grace.expires_after(kGrace);
  }
  stopping.join();
  co_await room_.join();
}

}  // namespace holdfast::api
