// What we answer, as JSON: errors, resources, lists, messages, health. Pure.
#pragma once

#include <google/protobuf/message.h>

#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "health/health.h"
#include "holdfast/v1/api.pb.h"
#include "net/http_message.h"

namespace holdfast::web {

// The HTTP status for a failure; 413 for what is too large, whatever its code.
int http_status(const Status& status);
// {"error":{"code":"HFnnnn","message":"..."}}; a status without a code gets the one of its kind.
std::string error_json(const Status& status);
net::HttpResponse error_answer(const Status& status);

// As `holdfast get -o json` prints it, with its revision as ETag.
net::HttpResponse resource_answer(const v1::Resource& resource, int status = 200);
// {"apiVersion":...,"kind":"list","metadata":{"revision":7,"next_page_token":"..."},"items":[...]}
net::HttpResponse list_answer(const v1::ListResponse& list);

// A message that is not a resource: every field, also zeros and empty texts, but not what is
// absent; enum values as words without their type, as "ok" of HEALTH_STATE_OK.
std::string message_json(const google::protobuf::Message& message);
net::HttpResponse message_answer(const google::protobuf::Message& message);

// The same moment on both clocks, to show when a component changed.
struct Moment {
  Time now;
  WallTime wall_now;
};
// 200 if all are ok, else 503; {"status":...,"components":[...],"reasons":["HF1101"]}.
net::HttpResponse ready_answer(health::State state, std::span<const health::Component> components,
                               const Moment& moment);
// Of one component; 404 if there is none of that name.
net::HttpResponse component_answer(std::string_view name,
                                   std::span<const health::Component> components,
                                   const Moment& moment);

}  // namespace holdfast::web
