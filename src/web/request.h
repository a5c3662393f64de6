// From what HTTP asks (query, headers, body) to what the API takes. Pure; every refusal is
// kInvalidArgument and names what is wrong.
#pragma once

#include <string_view>

#include "base/result.h"
#include "holdfast/v1/api.pb.h"
#include "net/http_message.h"
#include "web/route.h"

namespace holdfast::web {

// ?page_size=N&page_token=T&label=k=v&label=...
Result<v1::ListRequest> list_request(const Route& route, const net::HttpRequest& request);
// ?revision=N, or If-Match. Idempotency-Key is its request_id.
Result<v1::DeleteRequest> delete_request(const Route& route, const net::HttpRequest& request);
// ?kind=a&kind=b&name=N&label=k=v&after=REV&partial=1; name and labels are for every kind.
// Last-Event-ID, which a browser sends when it connects again, counts instead of `after`.
Result<v1::WatchRequest> watch_request(const net::HttpRequest& request);
// Refuses every parameter; `verbose` is allowed, since all answers are.
Status no_query(const net::HttpRequest& request);

struct Write {
  v1::WriteRequest request;
  // Only if it is there, and at request.metadata.revision if that is not 0.
  bool must_exist = false;
};
// The one resource in the body, JSON or YAML as Content-Type says, of the route's kind and name.
// A revision in If-Match or in its metadata makes it an update. Idempotency-Key is its request_id.
Result<Write> write_request(const Route& route, const net::HttpRequest& request);

// Whether the body is in a form we read. A page elsewhere on the web can make a browser send
// other forms with its user's certificate, but not these.
bool is_readable_type(std::string_view content_type);

}  // namespace holdfast::web
