// An HttpStream of which some bytes were read already: they come first.
#pragma once

#include <memory>
#include <string>

#include "net/http_stream.h"

namespace holdfast::net {

std::unique_ptr<HttpStream> with_early(std::unique_ptr<HttpStream> stream, std::string early);

}  // namespace holdfast::net
