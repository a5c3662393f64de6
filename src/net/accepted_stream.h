// A connection that a server accepted, in clear. Most peers have asked by the time they are
// accepted, and their answers fit into the kernel's buffer, so the loop hears of a connection only
// once there is something to wait for.
#pragma once

#include <boost/asio/any_io_executor.hpp>

#include <memory>

#include "net/http_stream.h"

namespace holdfast::net {

// Owns `socket`, which is not blocking.
std::unique_ptr<HttpStream> make_accepted_stream(const asio::any_io_executor& loop, int socket);

}  // namespace holdfast::net
