// Either side of a TLS connection as an HttpStream. Over OpenSSL on the socket itself rather
// than Asio's ssl::stream: that keeps about 70 KiB of buffers for every idle connection.
#pragma once

#include <memory>

#include "net/http_stream.h"
#include "net/tls_context.h"

namespace holdfast::net {

std::unique_ptr<HttpStream> make_tls_stream(StreamSocket socket,
                                            std::shared_ptr<const TlsContext> context);
// A client's; `host` as for TlsContext::connect_on().
std::unique_ptr<HttpStream> make_tls_client_stream(StreamSocket socket,
                                                   std::shared_ptr<const TlsContext> context,
                                                   const std::string& host);

}  // namespace holdfast::net
