#include "net/tls_context.h"

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>

#include "base/check.h"

namespace holdfast::net {
namespace {

constexpr long kMaxPresentedBytes = 32 << 10;  // of certificates, from one peer
constexpr size_t kLongestName = 253;
constexpr size_t kLongestProtocol = 255;
constexpr const char* kTunnelCiphers =
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";

template <auto Function>
struct Freed {
  template <typename T>
  void operator()(T* owned) const {
    Function(owned);
  }
};
using Certificate = std::unique_ptr<X509, Freed<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using Bio = std::unique_ptr<BIO, Freed<BIO_free>>;

// OpenSSL's own BIO for sockets raises SIGPIPE when the peer is gone; this one does not.
int socket_of(BIO* bio) {
  return static_cast<int>(reinterpret_cast<intptr_t>(BIO_get_data(bio)));
}

// A flag that OpenSSL leaves to whoever writes a BIO.
constexpr int kMoreFollows = 1 << 16;

int write_socket(BIO* bio, const char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  const int flags = BIO_test_flags(bio, kMoreFollows) != 0 ? MSG_NOSIGNAL | MSG_MORE : MSG_NOSIGNAL;
  const ssize_t sent = ::send(socket_of(bio), bytes, static_cast<size_t>(size), flags);
  if (sent < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}

int read_socket(BIO* bio, char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t count = ::recv(socket_of(bio), bytes, static_cast<size_t>(size), 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
  return static_cast<int>(count);
}

long control_socket(BIO* /*bio*/, int command, long /*number*/, void* /*pointer*/) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

BIO_METHOD* make_socket_method() {
  BIO_METHOD* method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
  HF_CHECK(method != nullptr, "OpenSSL has memory");
  BIO_meth_set_write(method, write_socket);
  BIO_meth_set_read(method, read_socket);
  BIO_meth_set_ctrl(method, control_socket);
  return method;
}

int accept_any_certificate(X509_STORE_CTX* /*store*/, void* /*unused*/) {
  return 1;
}

void set_rules(SSL_CTX* context) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                   SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  // A resumed session would not have the peer's whole chain.
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_max_cert_list(context, kMaxPresentedBytes);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_cert_verify_callback(context, accept_any_certificate, nullptr);
}

void set_client_rules(SSL_CTX* context) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_max_cert_list(context, kMaxPresentedBytes);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
}

// Between our own processes there is nobody old to talk to. Read-ahead: a record's header and body
// come with one call; the buffers go back when nothing is left in them.
Status set_tunnel_rules(SSL_CTX* context) {
  SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  SSL_CTX_set_read_ahead(context, 1);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  if (SSL_CTX_set_ciphersuites(context, kTunnelCiphers) == 1) return absl::OkStatus();
  return absl::FailedPreconditionError("OpenSSL lacks the ciphers of TLS 1.3");
}

Result<std::string> encode_protocols(const std::vector<std::string>& protocols) {
  std::string encoded;
  for (const std::string& protocol : protocols) {
    if (protocol.empty() || protocol.size() > kLongestProtocol) {
      return absl::InvalidArgumentError("a protocol's name has 1 to 255 bytes");
    }
    encoded += static_cast<char>(protocol.size());
    encoded += protocol;
  }
  if (encoded.empty()) return absl::InvalidArgumentError("a tunnel has a protocol");
  return encoded;
}

const unsigned char* bytes_of(const std::string& text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

Bio reader_of(const std::string& pem) {
  return Bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

// A private key is never asked a passphrase for.
int no_passphrase(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*unused*/) {
  return -1;
}

Status use_chain(SSL_CTX* context, const std::string& pem) {
  const Bio reader = reader_of(pem);
  const Certificate own(PEM_read_bio_X509(reader.get(), nullptr, no_passphrase, nullptr));
  if (!own || SSL_CTX_use_certificate(context, own.get()) != 1) {
    return absl::InvalidArgumentError("the certificate is not one in PEM");
  }
  while (Certificate next{PEM_read_bio_X509(reader.get(), nullptr, no_passphrase, nullptr)}) {
    if (SSL_CTX_add1_chain_cert(context, next.get()) != 1) {
      return absl::InvalidArgumentError("the certificate's chain cannot be used");
    }
  }
  return absl::OkStatus();
}

Status use_key(SSL_CTX* context, const std::string& pem) {
  const Bio reader = reader_of(pem);
  const Key key(PEM_read_bio_PrivateKey(reader.get(), nullptr, no_passphrase, nullptr));
  if (!key) return absl::InvalidArgumentError("the private key is not one in PEM");
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1 || SSL_CTX_check_private_key(context) != 1) {
    return absl::InvalidArgumentError("the private key is not the certificate's");
  }
  return absl::OkStatus();
}

Status trust(SSL_CTX* context, const std::string& pem) {
  if (pem.empty()) {
    SSL_CTX_set_default_verify_paths(context);
    return absl::OkStatus();
  }
  const Bio reader = reader_of(pem);
  size_t count = 0;
  while (Certificate next{PEM_read_bio_X509(reader.get(), nullptr, no_passphrase, nullptr)}) {
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), next.get());
    count += 1;
  }
  if (count > 0) return absl::OkStatus();
  return absl::InvalidArgumentError("the authorities to trust are not certificates in PEM");
}

void append_pem(X509* certificate, BIO* out) {
  HF_CHECK(PEM_write_bio_X509(out, certificate) == 1, "OpenSSL has memory");
}

}  // namespace

Result<std::shared_ptr<const TlsContext>> TlsContext::make(const std::string& certificate_chain_pem,
                                                           const std::string& private_key_pem) {
  return make_server(certificate_chain_pem, private_key_pem);
}

Result<std::shared_ptr<const TlsContext>> TlsContext::make_client(const TlsClientOptions& options) {
  return make_dialler(options);
}

Result<std::shared_ptr<TlsContext>> TlsContext::make_server(  // tidy: shared, const when it is made
    const std::string& certificate_chain_pem, const std::string& private_key_pem) {
  ERR_clear_error();
  std::shared_ptr<TlsContext> made(new TlsContext);  // tidy: shared, const from here on
  made->socket_method_.reset(make_socket_method());
  made->context_.reset(SSL_CTX_new(TLS_server_method()));
  HF_CHECK(made->context_ != nullptr, "OpenSSL has memory");
  set_rules(made->context_.get());
  Status fits = use_chain(made->context_.get(), certificate_chain_pem);
  if (fits.ok()) fits = use_key(made->context_.get(), private_key_pem);
  ERR_clear_error();
  if (!fits.ok()) return fits;
  return made;
}

Result<std::shared_ptr<TlsContext>> TlsContext::make_dialler(  // tidy: shared, const once made
    const TlsClientOptions& options) {
  if (options.server_name.size() > kLongestName) {
    return absl::InvalidArgumentError("a server's name has at most 253 bytes");
  }
  ERR_clear_error();
  std::shared_ptr<TlsContext> made(new TlsContext);  // tidy: shared, const from here on
  made->socket_method_.reset(make_socket_method());
  made->context_.reset(SSL_CTX_new(TLS_client_method()));
  HF_CHECK(made->context_ != nullptr, "OpenSSL has memory");
  made->server_name_ = options.server_name;
  SSL_CTX* context = made->context_.get();
  set_client_rules(context);
  Status fits = trust(context, options.ca_pem);
  const bool with_own = !options.certificate_pem.empty() || !options.private_key_pem.empty();
  if (fits.ok() && with_own) fits = use_chain(context, options.certificate_pem);
  if (fits.ok() && with_own) fits = use_key(context, options.private_key_pem);
  ERR_clear_error();
  if (!fits.ok()) return fits;
  return made;
}

Result<std::shared_ptr<const TlsContext>> TlsContext::make_tunnel_server(
    const TlsTunnelOptions& options) {
  TRY(std::string protocols, encode_protocols(options.protocols));
  TRY(std::shared_ptr<TlsContext> made,  // tidy: shared, const from here on
      make_server(options.certificate_pem, options.private_key_pem));
  made->protocols_ = std::move(protocols);
  const auto choose = [](SSL* /*ssl*/, const unsigned char** chosen, unsigned char* size,
                         const unsigned char* theirs, unsigned their_size, void* ours) {
    const std::string& own = *static_cast<const std::string*>(ours);
    unsigned char* found = nullptr;
    const int outcome = SSL_select_next_proto(
        &found, size, bytes_of(own), static_cast<unsigned>(own.size()), theirs, their_size);
    *chosen = found;
    return outcome == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
  };
  SSL_CTX_set_alpn_select_cb(made->context_.get(), choose, &made->protocols_);
  TRY_OK(set_tunnel_rules(made->context_.get()));
  return made;
}

Result<std::shared_ptr<const TlsContext>> TlsContext::make_tunnel_client(
    const TlsTunnelOptions& options) {
  if (options.ca_pem.empty() || options.server_name.empty()) {
    return absl::InvalidArgumentError("a tunnel's client knows whom it trusts and asks for");
  }
  TRY(std::string protocols, encode_protocols(options.protocols));
  TRY(std::shared_ptr<TlsContext> made,  // tidy: shared, const from here on
      make_dialler({.ca_pem = options.ca_pem,
                    .certificate_pem = options.certificate_pem,
                    .private_key_pem = options.private_key_pem,
                    .server_name = options.server_name}));
  made->protocols_ = std::move(protocols);
  const auto size = static_cast<unsigned>(made->protocols_.size());
  HF_CHECK(SSL_CTX_set_alpn_protos(made->context_.get(), bytes_of(made->protocols_), size) == 0,
           "OpenSSL has memory");
  TRY_OK(set_tunnel_rules(made->context_.get()));
  return made;
}

std::unique_ptr<SSL, TlsContext::Free> TlsContext::accept_on(int socket) const {
  std::unique_ptr<SSL, Free> ssl = open_on(socket);
  SSL_set_accept_state(ssl.get());
  return ssl;
}

std::unique_ptr<SSL, TlsContext::Free> TlsContext::connect_on(int socket,
                                                              const std::string& host) const {
  std::unique_ptr<SSL, Free> ssl = open_on(socket);
  SSL_set_connect_state(ssl.get());
  const std::string& expected = server_name_.empty() ? host : server_name_;
  // An address is looked for among the certificate's addresses, and is no name to ask for.
  if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl.get()), expected.c_str()) != 1) {
    const bool known = SSL_set1_host(ssl.get(), expected.c_str()) == 1 &&
                       SSL_set_tlsext_host_name(ssl.get(), expected.c_str()) == 1;
    HF_CHECK(known, "a host's name is one that TLS can ask for");
  }
  ERR_clear_error();
  return ssl;
}

std::unique_ptr<SSL, TlsContext::Free> TlsContext::open_on(int socket) const {
  std::unique_ptr<SSL, Free> ssl(SSL_new(context_.get()));
  BIO* bio = BIO_new(socket_method_.get());
  HF_CHECK(ssl != nullptr && bio != nullptr, "OpenSSL has memory");
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<intptr_t>(socket)));
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl.get(), bio, bio);
  return ssl;
}

void say_more_follows(SSL& ssl, bool more) {
  BIO* bio = SSL_get_wbio(&ssl);
  if (more) {
    BIO_set_flags(bio, kMoreFollows);
  } else {
    BIO_clear_flags(bio, kMoreFollows);
  }
}

std::string agreed_protocol(const SSL& ssl) {
  const unsigned char* text = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(&ssl, &text, &size);
  return {reinterpret_cast<const char*>(text), size};
}

std::string presented_chain(const SSL& ssl) {
  const Certificate own(SSL_get1_peer_certificate(&ssl));
  if (!own) return {};
  const Bio out(BIO_new(BIO_s_mem()));
  HF_CHECK(out != nullptr, "OpenSSL has memory");
  append_pem(own.get(), out.get());
  // On a server this does not hold the peer's own.
  const STACK_OF(X509)* others = SSL_get_peer_cert_chain(&ssl);
  for (int i = 0; others != nullptr && i < sk_X509_num(others); ++i) {
    append_pem(sk_X509_value(others, i), out.get());
  }
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return {text, static_cast<size_t>(size)};
}

void keep_tls_until_exit() {
  HF_CHECK(OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr) == 1, "OpenSSL begins");
}

}  // namespace holdfast::net
