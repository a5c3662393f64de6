// Learns that a channel lost its server, even if the channel has found another one since: a call on
// a channel without a server makes gRPC dial by itself, and asking for its state now and then would
// miss that.
#pragma once

#include <grpcpp/channel.h>

#include <boost/asio/awaitable.hpp>

#include <memory>

namespace holdfast::rpc {

namespace asio = boost::asio;

// Returns once the channel is not, or no longer, ready; false if the coroutine was cancelled. Keeps
// the channel for at most a quarter of a second after everybody else let it go.
asio::awaitable<bool> until_lost(
    std::shared_ptr<grpc::Channel> channel);  // tidy: shared, gRPC's own handle

}  // namespace holdfast::rpc
