// Clients of the public port: TLS that ends here, a user's certificate, and CONNECT or a page.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "ingress/client_service.h"

namespace holdfast::ingress {

// Until the connection is over. `shared` outlives it. Requires: shared.tls.
asio::awaitable<void> serve_public(IngressShared& shared, Client client);

}  // namespace holdfast::ingress
