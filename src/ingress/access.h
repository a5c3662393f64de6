// Who may connect to what, by the proxy's copy of services, roles and users: it decides with every
// controller gone as it did before.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "holdfast/v1/resource.pb.h"
#include "identity/identity.h"
#include "identity/permissions.h"
#include "resource/kind.h"

namespace holdfast::ingress {

// How the copy is asked. kNotFound: there is none; any other failure: not known now.
struct Lookups {
  std::function<Result<v1::Resource>(const std::string& name)> service;
  std::function<Result<v1::Role>(const std::string& name)> role;
  std::function<Result<v1::User>(const std::string& name)> user;
};

// The caller with the roles that its certificate and the stored user have in common; others than
// users as they are. kUnauthenticated HF5012: disabled or deleted; kUnavailable HF2305: not known.
Result<identity::Identity> current_caller(identity::Identity caller, const Lookups& lookups);

// What this caller may do to a kind, by the roles as they are now. kUnavailable HF2305.
Result<identity::Grant> grant_of(const identity::Identity& caller, v1::Verb verb,
                                 resource::Kind kind, const Lookups& lookups);

// The service, if this caller may connect to it. Requires: current_caller() let it in.
// kPermissionDenied HF5001, also for a service that there is not unless the caller may connect to
// all of them; kUnauthenticated HF5002: nobody; kNotFound HF2201; kUnavailable HF2305.
Result<v1::Service> check_connect(const identity::Identity& caller, const std::string& service,
                                  const Lookups& lookups);

// The port of the service that is meant by a name or number; empty: its first. kNotFound HF2304.
Result<v1::ServicePort> find_port(const v1::Service& service, const std::string& port);

}  // namespace holdfast::ingress
