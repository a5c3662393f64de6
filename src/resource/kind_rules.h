// The rules of each kind's body, one function for each row of the registry. Each requires a
// resource of its kind and returns kInvalidArgument naming the first field that is wrong. What
// holds for every kind (text, times, counts) is in validation.cc.
#pragma once

#include "base/result.h"
#include "holdfast/v1/resource.pb.h"

namespace holdfast::resource {

Status validate_controller(const v1::Resource& resource);
Status validate_proxy(const v1::Resource& resource);
Status validate_agent(const v1::Resource& resource);
Status validate_service(const v1::Resource& resource);
Status validate_token(const v1::Resource& resource);
Status validate_role(const v1::Resource& resource);
Status validate_user(const v1::Resource& resource);
Status validate_networking_config(const v1::Resource& resource);
Status validate_zone_map(const v1::Resource& resource);
Status validate_capacity_lease(const v1::Resource& resource);
Status validate_cert_authority(const v1::Resource& resource);

}  // namespace holdfast::resource
