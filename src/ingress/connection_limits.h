// How many connections there are: in all and for each address, and how many of them have not yet
// said what they want.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>

#include "ingress/ingress_options.h"

namespace holdfast::ingress {

class ConnectionLimits {
 public:
  explicit ConnectionLimits(const IngressOptions& options) : options_(options) {}

  // Null if one more may come from there; else which limit holds, as one word for a counter.
  const char* why_not(const std::string& address, bool waits) const;
  size_t open() const { return open_; }
  size_t waiting() const { return waiting_; }
  size_t addresses() const { return by_address_.size(); }

 private:
  friend class Slot;
  struct Count {
    size_t open = 0;
    size_t waiting = 0;
  };
  using ByAddress = std::unordered_map<std::string, Count>;

  const IngressOptions options_;
  ByAddress by_address_;
  size_t open_ = 0;
  size_t waiting_ = 0;
};

// One connection's place; given back when it is destroyed, with the end of its stream.
class Slot {
 public:
  using Limits = std::shared_ptr<ConnectionLimits>;  // tidy: shared, streams outlive services

  Slot() = default;
  Slot(Limits limits, const std::string& address, bool waits);
  Slot(Slot&& other) noexcept;
  Slot& operator=(Slot&& other) noexcept;
  ~Slot() { give_back(); }

  // It has said what it wants.
  void settle();

 private:
  void give_back();

  Limits limits_;
  // Where it is stays when others come; an iterator would not.
  ConnectionLimits::ByAddress::value_type* count_ = nullptr;
  bool waits_ = false;
};

}  // namespace holdfast::ingress
