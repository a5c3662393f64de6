// A server's certificate and key, and how it speaks TLS: 1.2 and above, no sessions that outlive
// a connection. Clients are asked for a certificate, and whatever they present is accepted
// if they hold its key: who it is, and whether that counts, is judged above, request by request.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace holdfast::net {

// A client's side of TLS, all in PEM.
struct TlsClientOptions {
  std::string ca_pem{};           // whom it trusts; empty: the system's roots
  std::string certificate_pem{};  // its own, with its key; empty: none
  std::string private_key_pem{};
  std::string server_name{};  // expected in the peer's certificate; empty: the host it dials
};

// Either side of a tunnel between our own processes, all in PEM: TLS 1.3 only, AES-128-GCM first.
struct TlsTunnelOptions {
  std::string certificate_pem{};  // its own, with its key
  std::string private_key_pem{};
  std::vector<std::string> protocols{};  // ALPN, the best first; no connection without one of them
  std::string ca_pem{};                  // of the dialling side: whom it trusts
  std::string server_name{};             // of the dialling side: expected in the peer's certificate
};

class TlsContext {
 public:
  // kInvalidArgument if either is not PEM, or the key is not the first certificate's.
  static Result<std::shared_ptr<const TlsContext>> make(const std::string& certificate_chain_pem,
                                                        const std::string& private_key_pem);
  // For connections we open: whoever answers must hold a certificate that this trusts.
  static Result<std::shared_ptr<const TlsContext>> make_client(const TlsClientOptions& options);
  // For tunnels. kInvalidArgument as above, or if a protocol or the name is not one.
  static Result<std::shared_ptr<const TlsContext>> make_tunnel_server(
      const TlsTunnelOptions& options);
  static Result<std::shared_ptr<const TlsContext>> make_tunnel_client(
      const TlsTunnelOptions& options);

  struct Free {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
    void operator()(BIO_METHOD* method) const { BIO_meth_free(method); }
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };
  // A server's side of a connection on this socket, which is non-blocking and stays the caller's.
  // The context must outlive it.
  std::unique_ptr<SSL, Free> accept_on(int socket) const;
  // A client's side of one. `host` is whom it dials: a name, or an address without brackets.
  std::unique_ptr<SSL, Free> connect_on(int socket, const std::string& host) const;

 private:
  TlsContext() = default;
  static Result<std::shared_ptr<TlsContext>> make_server(  // tidy: shared, const when it is made
      const std::string& certificate_chain_pem, const std::string& private_key_pem);
  static Result<std::shared_ptr<TlsContext>> make_dialler(  // tidy: shared, const when it is made
      const TlsClientOptions& options);
  std::unique_ptr<SSL, Free> open_on(int socket) const;

  std::unique_ptr<BIO_METHOD, Free> socket_method_;
  std::unique_ptr<SSL_CTX, Free> context_;
  std::string server_name_;  // of a client
  std::string protocols_;    // of a tunnel, as ALPN has them: each after its length
};

// Until it is said again: whether what is written next is followed by more at once, so that the
// kernel may send both together. Only of a connection that a TlsContext opened.
void say_more_follows(SSL& ssl, bool more);

// To be called first in main(). OpenSSL frees its globals in an exit handler, and threads of gRPC
// may still shake hands then: the process would crash on its way out. So nothing is freed.
void keep_tls_until_exit();

// The protocol both sides agreed on; empty if none.
std::string agreed_protocol(const SSL& ssl);

// What the peer presented, its own certificate first, as PEM; empty if nothing.
std::string presented_chain(const SSL& ssl);

}  // namespace holdfast::net
