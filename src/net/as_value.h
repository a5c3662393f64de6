// The completion token of every wait in services: the outcome is a value, an error code first.
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace holdfast::net {

inline constexpr auto kAsValue = boost::asio::as_tuple(boost::asio::use_awaitable);

}  // namespace holdfast::net
