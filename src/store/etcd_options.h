// How to reach etcd and how to behave there.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "rpc/channel.h"
#include "store/etcd_leases.h"
#include "store/store.h"

namespace holdfast::store {

struct EtcdOptions {
  std::vector<std::string> endpoints{};  // host:port of each member; at least one
  std::string prefix = "/holdfast";      // of every key
  std::optional<rpc::TlsOptions> tls{};
  std::string username{};  // empty: no authentication
  std::string password{};
  // Of a whole operation, tries on other members included.
  Duration request_timeout = std::chrono::seconds(5);
  // Of one try on one member: how long a frozen member can hold an operation up.
  Duration try_timeout = std::chrono::milliseconds(1250);
  // etcd hangs up on clients that ping more often than every five seconds.
  Duration keepalive_interval = std::chrono::seconds(6);
  Duration keepalive_timeout = std::chrono::seconds(2);
  Limits limits{};
  LeaseBucketOptions leases{};
  uint64_t seed = 1;  // differs between processes, so that they do not retry in step
};

}  // namespace holdfast::store
