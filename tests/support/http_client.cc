#include "support/http_client.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <openssl/pem.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <span>

#include "base/check.h"
#include "support/eventually.h"

namespace holdfast::test {
namespace {

constexpr time_t kPatienceSeconds = 10;

// A socket that is connected, from `source` unless it is "". Each try has a socket of its own: one
// whose connect() failed or was interrupted is of no further use.
int connected(int family, std::span<const std::byte> address, const std::string& source,
              const std::string& shown) {
  int made = -1;
  int error = 0;
  const auto connects = [&] {
    made = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (!source.empty()) {
      sockaddr_in from = {};
      from.sin_family = AF_INET;
      ::inet_pton(AF_INET, source.c_str(), &from.sin_addr);
      const auto* bound = reinterpret_cast<const sockaddr*>(&from);
      HF_CHECK(::bind(made, bound, sizeof(from)) == 0, "binding to " + source);
    }
    const auto* general = reinterpret_cast<const sockaddr*>(address.data());
    if (::connect(made, general, static_cast<socklen_t>(address.size())) == 0) return true;
    error = errno;
    ::close(made);
    return false;
  };
  HF_CHECK(eventually(connects, std::chrono::seconds(kPatienceSeconds)),
           fmt::format("connecting to {}: {}", shown, std::strerror(error)));
  return made;
}

int connect_unix(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  return connected(AF_UNIX, std::as_bytes(std::span(&address, 1)), "", path);
}

int connect_tcp(const std::string& text, const std::string& source) {
  const size_t colon = text.rfind(':');
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(std::atoi(text.c_str() + colon + 1)));
  ::inet_pton(AF_INET, text.substr(0, colon).c_str(), &address.sin_addr);
  return connected(AF_INET, std::as_bytes(std::span(&address, 1)), source, text);
}

std::string field_of(const std::string& head, std::string_view name) {
  const size_t at = head.find(fmt::format("\r\n{}: ", name));
  if (at == std::string::npos) return {};
  const size_t begin = at + name.size() + 4;
  return head.substr(begin, head.find("\r\n", begin) - begin);
}

void use(SSL_CTX* context, const TestCertificate& own) {
  BIO* certificate_in = BIO_new_mem_buf(own.certificate_pem.data(), -1);
  BIO* key_in = BIO_new_mem_buf(own.private_key_pem.data(), -1);
  X509* certificate = PEM_read_bio_X509(certificate_in, nullptr, nullptr, nullptr);
  EVP_PKEY* key = PEM_read_bio_PrivateKey(key_in, nullptr, nullptr, nullptr);
  HF_CHECK(SSL_CTX_use_certificate(context, certificate) == 1, "a certificate");
  HF_CHECK(SSL_CTX_use_PrivateKey(context, key) == 1, "its key");
  X509_free(certificate);
  EVP_PKEY_free(key);
  BIO_free(certificate_in);
  BIO_free(key_in);
}

}  // namespace

HttpClient::HttpClient(const std::string& address, const std::string& source) {
  constexpr std::string_view kUnix = "unix:";
  socket_ = address.starts_with(kUnix) ? connect_unix(address.substr(kUnix.size()))
                                       : connect_tcp(address, source);
  const timeval patience = {.tv_sec = kPatienceSeconds, .tv_usec = 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
}

HttpClient::~HttpClient() {
  ::close(socket_);
}

bool HttpClient::start_tls(const TestCertificate* own, const std::string& protocol) {
  std::signal(SIGPIPE, SIG_IGN);
  context_.reset(SSL_CTX_new(TLS_client_method()));
  if (own != nullptr) use(context_.get(), *own);
  ssl_.reset(SSL_new(context_.get()));
  SSL_set_fd(ssl_.get(), socket_);
  const std::string offer = static_cast<char>(protocol.size()) + protocol;
  const auto* bytes = reinterpret_cast<const unsigned char*>(offer.data());
  if (!protocol.empty())
    SSL_set_alpn_protos(ssl_.get(), bytes, static_cast<unsigned>(offer.size()));
  return SSL_connect(ssl_.get()) == 1;
}

bool HttpClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ssl_ ? SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()))
                              : ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

int HttpClient::receive(char* into, int size) {
  if (ssl_) return SSL_read(ssl_.get(), into, size);
  return static_cast<int>(::recv(socket_, into, static_cast<size_t>(size), 0));
}

bool HttpClient::fill() {
  char bytes[16'384];
  errno = 0;
  const int count = receive(bytes, sizeof(bytes));
  timed_out_ = count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  if (count <= 0) return false;
  pending_.append(bytes, static_cast<size_t>(count));
  return true;
}

std::string HttpClient::read_until(std::string_view text) {
  size_t at = pending_.find(text);
  while (at == std::string::npos && fill()) at = pending_.find(text);
  const size_t end = at == std::string::npos ? pending_.size() : at + text.size();
  const std::string taken = pending_.substr(0, end);
  pending_.erase(0, end);
  return taken;
}

Reply HttpClient::read_reply() {
  Reply reply;
  reply.head = read_until("\r\n\r\n");
  if (!reply.head.ends_with("\r\n\r\n")) return {};
  const size_t length =
      static_cast<size_t>(std::atol(field_of(reply.head, "Content-Length").c_str()));
  while (pending_.size() < length && fill()) {
  }
  if (pending_.size() < length) return {};
  reply.body = pending_.substr(0, length);
  pending_.erase(0, length);
  reply.status = std::atoi(reply.head.c_str() + std::strlen("HTTP/1.1 "));
  return reply;
}

Reply HttpClient::ask(std::string_view method_and_target, std::string_view body) {
  const std::string type = body.empty() ? "" : "Content-Type: application/json\r\n";
  if (!send(fmt::format("{} HTTP/1.1\r\nHost: test\r\n{}Content-Length: {}\r\n\r\n{}",
                        method_and_target, type, body.size(), body))) {
    return {};
  }
  return read_reply();
}

bool HttpClient::is_closed() {
  while (fill()) {
  }
  return !timed_out_;
}

std::string HttpClient::server_name() const {
  X509* shown = SSL_get1_peer_certificate(ssl_.get());
  char name[256] = {};
  X509_NAME_get_text_by_NID(X509_get_subject_name(shown), NID_commonName, name, sizeof(name));
  X509_free(shown);
  return name;
}

}  // namespace holdfast::test
