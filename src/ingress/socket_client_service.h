// Clients of the operator's own listeners: plain TCP, or TLS that is not ours to end.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "ingress/client_service.h"
#include "ingress/listener_spec.h"

namespace holdfast::ingress {

// Until its stream is open or it is refused. `shared` and `spec` outlive it.
asio::awaitable<void> serve_tcp(IngressShared& shared, Client client, const ListenerSpec& spec);
asio::awaitable<void> serve_sni(IngressShared& shared, Client client, const ListenerSpec& spec);

}  // namespace holdfast::ingress
