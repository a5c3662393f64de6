// Which lease makes an item expire. One lease per item would be one more request per write, so the
// items that expire in the same few seconds share one: a bucket. A lease lasts until the end of its
// bucket, so an item never vanishes before its expiry and at most one bucket later. Core: the
// service grants what is missing.
//
//   expires:      3s  4s      7s
//   buckets:   |0 ───────── 5s|5s ───────── 10s|
//   leases:                   ▲                ▲
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>

#include "base/clock.h"

namespace holdfast::store {

struct LeaseBucketOptions {
  std::chrono::milliseconds width = std::chrono::seconds(5);
  size_t max_buckets = 1024;  // remembered; when full, the furthest is forgotten and granted anew
};

class EtcdLeases {
 public:
  struct Bucket {
    int64_t index = 0;
    int64_t ttl_seconds = 1;  // of a lease granted now
    bool operator==(const Bucket&) const = default;
  };

  explicit EtcdLeases(LeaseBucketOptions options) : options_(options) {}

  // An expiry in the past falls in the bucket of now.
  Bucket bucket(WallTime expires, WallTime now) const;

  std::optional<int64_t> find(int64_t index) const;
  void remember(int64_t index, int64_t lease, WallTime now);
  // After etcd said that the lease is gone.
  void forget_lease(int64_t lease);
  size_t size() const { return leases_.size(); }

 private:
  LeaseBucketOptions options_;
  std::map<int64_t, int64_t> leases_;  // by bucket index
};

}  // namespace holdfast::store
