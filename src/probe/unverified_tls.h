// A client's side of TLS that believes everybody, as bytes in and bytes out: a probe asks whether
// an application answers, not who it is.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace holdfast::probe {

// What the peer may choose from by ALPN: h2 and http/1.1, or h2 alone, as gRPC has it.
enum class Offer { Http, Http2 };

// What connections share.
class UnverifiedTls {
 public:
  UnverifiedTls();
  SSL_CTX* context() const { return context_.get(); }

 private:
  struct Free {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  };
  std::unique_ptr<SSL_CTX, Free> context_;
};

// One connection. Every call may leave something for output().
class TlsBytes {
 public:
  // An address is no name to ask for: then the peer is asked for none.
  TlsBytes(const UnverifiedTls& tls, const std::string& host, Offer offer);

  // What came from the peer.
  void put(std::string_view bytes);
  // The peer's connection has ended.
  void end() { ended_ = true; }
  // To be sent to the peer; once.
  std::string output();

  // True once it is done; kDataLoss, with OpenSSL's words, if the peer does not speak TLS, and
  // kFailedPrecondition if it speaks HTTP in clear instead.
  Result<bool> handshake();
  Status write(std::string_view bytes);
  struct Read {
    size_t count = 0;
    bool end = false;  // nothing more will come
  };
  // Neither: more bytes are needed first.
  Result<Read> read(std::span<char> into);

  std::string_view protocol() const;

 private:
  struct Free {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };
  std::unique_ptr<SSL, Free> ssl_;
  bool ended_ = false;
  std::string first_;  // what the peer began with
};

}  // namespace holdfast::probe
