// As std.h, for the modules that wait.
#pragma once
#include <boost/asio.hpp>

#include "std.h"
