// How a refusal is said in HTTP: the status that clients know, and a line with the code.
#pragma once

#include "base/result.h"
#include "net/http_message.h"

namespace holdfast::ingress {

// 407 or 401: no certificate that holds; 403, 404; 502: all that carry the service refused;
// 503: nobody carries it, or a limit; 504. Its body: {"error":{"code":"HF2202","message":"..."}}.
enum class Asked { Connect, Page };
net::HttpResponse refusal(const Status& why, Asked asked);

}  // namespace holdfast::ingress
