// The service config that clients are given by GetServiceConfig: how to balance, and which service
// to watch for health. Written as JSON, or as the same mapping in YAML:
//
//   {"loadBalancingConfig": [{"pick_healthy": {"mode": "reconnect"}}],
//    "healthCheckConfig": {"serviceName": ""}}
//
// It may stand in a wrapper {"grpc_client_lb_policy": {…}}; keys may be camelCase or snake_case;
// "teleport_pick_healthy" is another name of pick_healthy.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "holdfast/v1/node.pb.h"
#include "resource/node.h"

namespace holdfast::config {

struct ServiceConfigReading {
  v1::ServiceConfig config;
  // Everything that is wrong; `config` counts only if this is empty.
  std::vector<resource::ParseError> errors;
  // Policies this version does not know, which are left out, and settings without effect.
  std::vector<resource::ParseError> warnings;
};

// Strict JSON, at most 64 KiB.
ServiceConfigReading parse_service_config(std::string_view json);
ServiceConfigReading read_service_config(const resource::Node& node);

// pick_healthy with mode "reconnect", health watched for service "". Clients of Holdfast have had
// reconnect from the first version, so there is no older behaviour for the default to protect.
v1::ServiceConfig default_service_config();

// One line of JSON that reads back the same.
std::string service_config_json(const v1::ServiceConfig& config);

}  // namespace holdfast::config
