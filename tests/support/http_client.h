// A blocking HTTP client for tests, plain or under TLS, that sends whatever bytes it is given.
// Reads wait at most ten seconds.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <string_view>

#include "support/test_certificate.h"

namespace holdfast::test {

struct Reply {
  int status = 0;  // 0: the connection ended before a whole reply
  std::string head{};
  std::string body{};
  bool says_close() const { return head.find("Connection: close\r\n") != std::string::npos; }
};

class HttpClient {
 public:
  // "127.0.0.1:8080" or "unix:PATH"; from `source` if it is named, as "127.0.0.2".
  explicit HttpClient(const std::string& address, const std::string& source = "");
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // False if the handshake fails. `own` may be null: no certificate. What the server shows is
  // accepted. `protocol` is offered by ALPN, as "h2".
  bool start_tls(const TestCertificate* own, const std::string& protocol = "");

  // False if the peer is gone.
  bool send(std::string_view bytes);
  Reply read_reply();
  Reply ask(std::string_view method_and_target, std::string_view body = {});
  // What comes until `text` has come, with it; all there was if it did not come.
  std::string read_until(std::string_view text);
  // True once the server has closed it; false if it has not within ten seconds.
  bool is_closed();
  int socket() const { return socket_; }
  // Of the certificate the server showed.
  std::string server_name() const;

 private:
  struct Free {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  };
  // 0: ended; negative: nothing within ten seconds, or broken.
  int receive(char* into, int size);
  bool fill();

  int socket_ = -1;
  bool timed_out_ = false;
  std::string pending_;
  std::unique_ptr<SSL_CTX, Free> context_;
  std::unique_ptr<SSL, Free> ssl_;
};

}  // namespace holdfast::test
