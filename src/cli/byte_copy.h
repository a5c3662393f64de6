// Two connections joined: what one says the other hears.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <memory>

#include "base/result.h"
#include "net/http_stream.h"

namespace holdfast::cli {

namespace asio = boost::asio;

// When it is over: when neither says more, or already when the service does not. Whoever reads
// standard input cannot know whether more comes.
enum class Until { BothEnd, ServiceEnds };

// Copies until then; closes both. kUnavailable HF2312 if either broke.
asio::awaitable<Status> join_streams(net::HttpStream& local, net::HttpStream& service, Until until);

// This process's standard input and output as one connection. They are as they were before when it
// is destroyed.
std::unique_ptr<net::HttpStream> standard_streams(const asio::any_io_executor& loop);

}  // namespace holdfast::cli
