// Where Holdfast's keys live in etcd: all under one prefix, followed by a slash so that the
// prefixes
// "/holdfast" and "/holdfast2" never meet. Core: translation only.
//
//   key "agent/e7"  <->  "/holdfast/agent/e7"
//   internal        ->   "/holdfast/\0fence/17"    no user's key holds NUL
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "store/store.h"

namespace holdfast::store {

class EtcdKeys {
 public:
  explicit EtcdKeys(std::string_view prefix);

  std::string stored(std::string_view key) const { return prefix_ + std::string(key); }
  // kDataLoss if etcd answered with a key that is not ours.
  Result<std::string> plain(std::string_view stored) const;

  // Both ends as etcd wants them. Internal keys are never inside; a range that holds no key becomes
  // one internal key that is never written.
  KeyRange stored_range(const KeyRange& range) const;
  // Everything of ours, internal keys as well.
  KeyRange whole() const;

  // A key whose changes refuse the commits sent before: see etcd_commit.h.
  std::string fence(uint64_t seed) const;

 private:
  std::string prefix_;
};

}  // namespace holdfast::store
