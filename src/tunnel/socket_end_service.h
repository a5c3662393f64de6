// A plain connection, TCP or unix, as one end of a stream: an app's at an agent, a client's at a
// proxy. Bytes go between the socket and the link's buffers without a copy in between; the loop is
// asked to wait only when the socket would block.
#pragma once

#include <memory>

#include "net/http_stream.h"
#include "tunnel/end_report.h"
#include "tunnel/link_service.h"

namespace holdfast::tunnel {

// The stream's end is the socket's: a half that ends is shut down, and a stream that is reset
// resets the connection (RST), so that what was cut never looks whole. A unix socket has no such
// thing: it is closed.
std::unique_ptr<StreamEnd> make_socket_end(net::StreamSocket socket, OnEnded on_ended = {});

}  // namespace holdfast::tunnel
