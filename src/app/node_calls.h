// /v1/tunnels and /v1/drain: the same on a node's unix socket and at a proxy's public address.
// Whether the caller may is decided before.
#pragma once

#include "app/node_part.h"
#include "base/result.h"
#include "net/http_message.h"

namespace holdfast::app {

// Whether the request is for one of them, and whether it would change something.
bool is_node_call(const net::HttpRequest& request);
bool changes_node(const net::HttpRequest& request);

// kNotFound if it is no such call; kInvalidArgument for a body that is no DrainRequest.
Result<net::HttpResponse> answer_node_call(NodePart& part, const net::HttpRequest& request);

}  // namespace holdfast::app
