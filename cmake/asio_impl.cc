// Boost.Asio's functions that are not templates, compiled here once (see dependencies.cmake).
#include <boost/asio/impl/src.hpp>
