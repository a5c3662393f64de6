// What a cluster needs to run the injector, as YAML documents: namespace, service account, secret,
// deployment, service, disruption budget and webhook configuration. Pure text.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "inject/translate.h"

namespace holdfast::inject {

struct ClusterOptions {
  std::string name_space = "holdfast-system";
  std::string image = kDefaultImage;  // of the injector and of the sidecars
  std::string failure_policy = "Fail";
  int timeout_seconds = 5;
  int replicas = 2;
  int port = 9000;      // of the probe handler in pods
  bool opt_in = false;  // only namespaces with the label holdfast.dev/inject=enabled
  std::string secret = "holdfast-injector-tls";
  // PEM. An API server trusts the injector by `ca`; the other two are printed as the secret, unless
  // both are empty: then it is there already.
  std::string ca{};
  std::string certificate{};
  std::string key{};
};

// Of the service in front of the injector: what its certificate must name.
std::vector<std::string> server_names(const std::string& name_space);

// kInvalidArgument HF7156, naming the option, if one of them cannot be.
Status check_options(const ClusterOptions& options);
// Requires: check_options() accepts them.
std::string manifests(const ClusterOptions& options);

}  // namespace holdfast::inject
