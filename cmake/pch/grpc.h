// As asio.h, for the modules that speak gRPC.
#pragma once
#include <grpcpp/grpcpp.h>

#include "asio.h"
