// The difference of two JSON documents as RFC 6902, no longer than it must be.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

namespace holdfast::inject {

// Applied to `before` it gives `after`, up to the order of members. Lists of named objects are
// matched by name. In a list, changes of elements come first, with the places they have in
// `before`; then what goes, from the back; then what comes.
boost::json::array difference(const boost::json::value& before, const boost::json::value& after);

}  // namespace holdfast::inject
