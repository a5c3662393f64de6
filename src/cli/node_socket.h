// Asking a node itself over HTTP: by its unix socket, or at a proxy's public address.
#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "cli/errors.h"
#include "net/http_client.h"

namespace holdfast::cli {

// "unix:/PATH" of a socket, or of the one in a node's data folder.
std::string socket_of(const std::string& node);

// Blocking. As HttpClient::ask().
Result<net::HttpAnswer> ask_http(const net::HttpClientOptions& options, const net::HttpCall& call);

// The body of a 2xx as this message; fields that this version does not know are passed over.
// Otherwise the error that the answer carries, with its code; kDataLoss if it is something else.
Status read_answer(const net::HttpAnswer& answer, google::protobuf::Message& into);

// HF1310, for the user.
Failure no_node(const Status& status);

}  // namespace holdfast::cli
