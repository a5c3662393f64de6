// A server's certificate and key, and how it speaks TLS: 1.2 and above, no sessions that outlive
// a connection. Clients are asked for a certificate, and whatever they present is accepted
// if they hold its key: who it is, and whether that counts, is judged above, request by request.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "base/result.h"

namespace holdfast::net {

class TlsContext {
 public:
  // kInvalidArgument if either is not PEM, or the key is not the first certificate's.
  static Result<std::shared_ptr<const TlsContext>> make(const std::string& certificate_chain_pem,
                                                        const std::string& private_key_pem);

  struct Free {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
    void operator()(BIO_METHOD* method) const { BIO_meth_free(method); }
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };
  // A server's side of a connection on this socket, which is non-blocking and stays the caller's.
  // The context must outlive it.
  std::unique_ptr<SSL, Free> accept_on(int socket) const;

 private:
  TlsContext() = default;

  std::unique_ptr<BIO_METHOD, Free> socket_method_;
  std::unique_ptr<SSL_CTX, Free> context_;
};

// What the peer presented, its own certificate first, as PEM; empty if nothing.
std::string presented_chain(const SSL& ssl);

}  // namespace holdfast::net
