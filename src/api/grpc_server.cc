#include "api/grpc_server.h"

#include <fmt/format.h>
#include <grpcpp/impl/codegen/service_type.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <thread>

namespace holdfast::api {
namespace {

// What running calls have to end by themselves when the server stops.
constexpr std::chrono::seconds kGrace(1);
constexpr unsigned kRereadSeconds = 1;

int milliseconds(Duration duration) {
  return static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

// Certificates of clients are asked for, not judged here: the gate does that for each call, so that
// a refusal has a reason, goes to the audit, and follows the authority at once. That the client has
// the key is proved by TLS itself.
std::shared_ptr<grpc::ServerCredentials> credentials(const std::string& identity_file) {
  if (identity_file.empty()) return grpc::InsecureServerCredentials();
  namespace tls = grpc::experimental;
  tls::TlsServerCredentialsOptions options(std::make_shared<tls::FileWatcherCertificateProvider>(
      identity_file, identity_file, kRereadSeconds));
  options.watch_identity_key_cert_pairs();
  options.set_cert_request_type(GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_BUT_DONT_VERIFY);
  options.set_check_call_host(false);
  return tls::TlsServerCredentials(options);
}

}  // namespace

GrpcServer::GrpcServer(const asio::any_io_executor& loop, GrpcServerOptions options,
                       const GrpcServices& services)
    : loop_(loop),
      options_(std::move(options)),
      room_(loop, services.gate, options_.max_calls_in_flight, options_.identity_file.empty()),
      fronts_(make_fronts(room_, services)) {}

GrpcServer::~GrpcServer() = default;

Result<std::unique_ptr<GrpcServer>> GrpcServer::start(const asio::any_io_executor& loop,
                                                      GrpcServerOptions options,
                                                      const GrpcServices& services) {
  std::unique_ptr<GrpcServer> server(new GrpcServer(loop, std::move(options), services));
  TRY_OK(server->listen());
  return server;
}

Status GrpcServer::listen() {
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(options_.max_message_bytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, options_.max_streams_per_connection);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                             milliseconds(options_.handshake_timeout));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, milliseconds(options_.idle_timeout));
  // Our own clients ping every ten seconds; who pings much more is cut off.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5'000);
  ports_.resize(options_.listen.size());
  const std::shared_ptr<grpc::ServerCredentials> secured = credentials(options_.identity_file);
  for (size_t i = 0; i < options_.listen.size(); ++i) {
    builder.AddListeningPort(options_.listen[i], secured, &ports_[i]);
  }
  for (const std::unique_ptr<grpc::Service>& front : fronts_) builder.RegisterService(front.get());
  server_ = builder.BuildAndStart();
  if (server_ != nullptr) return absl::OkStatus();
  return absl::UnavailableError(
      fmt::format("cannot listen on {}: in use, or not an address of this machine",
                  fmt::join(options_.listen, ", ")));
}

asio::awaitable<void> GrpcServer::stop() {
  // Shutdown() blocks until every call is finished, and calls finish on this loop.
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
