#include "cli/tls_peek.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>

#include "identity/certificate.h"

namespace holdfast::cli {
namespace {

using SteadyClock = std::chrono::steady_clock;
using Deadline = SteadyClock::time_point;

template <auto Free>
struct PeekFreed {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Bio = std::unique_ptr<BIO, PeekFreed<BIO_free_all>>;
using Context = std::unique_ptr<SSL_CTX, PeekFreed<SSL_CTX_free>>;
using PeekConnection = std::unique_ptr<SSL, PeekFreed<SSL_free>>;
using Addresses = std::unique_ptr<addrinfo, PeekFreed<freeaddrinfo>>;

class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  ~Socket() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&&) = delete;
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

// False once the deadline has passed.
bool wait_for(const Socket& socket, short events, Deadline deadline) {
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - SteadyClock::now()).count();
    if (left <= 0) return false;
    pollfd waiting{.fd = socket.get(), .events = events, .revents = 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(std::min<int64_t>(left, 1000)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

Status late(const Address& address) {
  return absl::DeadlineExceededError(fmt::format("{} did not answer in time", address.text()));
}

Result<Socket> connect_one(const addrinfo& candidate, const Address& address, Deadline deadline) {
  Socket socket(::socket(candidate.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  int error = 0;
  if (socket.get() < 0 || ::connect(socket.get(), candidate.ai_addr, candidate.ai_addrlen) != 0) {
    error = errno;
  }
  if (error == EINPROGRESS) {
    if (!wait_for(socket, POLLOUT, deadline)) return late(address);
    socklen_t size = sizeof(error);
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  }
  if (error == 0) return socket;
  return absl::UnavailableError(std::strerror(error));
}

Result<Socket> connect_any(const Address& address, Deadline deadline) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG;
  addrinfo* found = nullptr;
  const int error =
      ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  const Addresses addresses(found);
  if (error != 0) return absl::UnavailableError(::gai_strerror(error));
  Status last = absl::UnavailableError("no address");
  for (const addrinfo* candidate = found; candidate != nullptr; candidate = candidate->ai_next) {
    Result<Socket> socket = connect_one(*candidate, address, deadline);
    if (socket.ok()) return socket;
    last = socket.status();
  }
  return last;
}

Context make_context() {
  constexpr std::array<unsigned char, 3> kHttp2 = {2, 'h', '2'};  // gRPC servers insist
  Context context(SSL_CTX_new(TLS_client_method()));
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_alpn_protos(context.get(), kHttp2.data(), kHttp2.size());
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);  // recognise() decides
  return context;
}

Status shake_hands(SSL& connection, const Socket& socket, const Address& address,
                   Deadline deadline) {
  for (;;) {
    ERR_clear_error();
    const int done = SSL_connect(&connection);
    if (done == 1) return absl::OkStatus();
    const int wanted = SSL_get_error(&connection, done);
    if (wanted != SSL_ERROR_WANT_READ && wanted != SSL_ERROR_WANT_WRITE) {
      return absl::UnavailableError("it does not speak TLS as a controller does");
    }
    const bool read = wanted == SSL_ERROR_WANT_READ;
    if (!wait_for(socket, read ? POLLIN : POLLOUT, deadline)) return late(address);
  }
}

std::string to_pem(X509* certificate) {
  const Bio memory(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(memory.get(), certificate);
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &data);
  return {data, static_cast<size_t>(size)};
}

}  // namespace

Result<std::vector<std::string>> peek_chain(const Address& address, Duration timeout) {
  const Deadline deadline =
      SteadyClock::now() + std::chrono::duration_cast<SteadyClock::duration>(timeout);
  TRY(const Socket socket, connect_any(address, deadline));
  const Context context = make_context();
  const PeekConnection connection(SSL_new(context.get()));
  const std::string name(identity::kControllerServerName);
  SSL_set_tlsext_host_name(connection.get(), name.c_str());
  SSL_set_fd(connection.get(), socket.get());
  TRY_OK(shake_hands(*connection, socket, address, deadline));
  std::vector<std::string> chain;
  const STACK_OF(X509)* shown = SSL_get_peer_cert_chain(connection.get());
  for (int i = 0; shown != nullptr && i < sk_X509_num(shown); ++i) {
    chain.push_back(to_pem(sk_X509_value(shown, i)));
  }
  return chain;
}

}  // namespace holdfast::cli
