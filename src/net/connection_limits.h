// How many connections there are: in all and for each address, and how many of them have not yet
// said what they want.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <unordered_map>

namespace holdfast::net {

struct ConnectionBounds {
  size_t max_connections = std::numeric_limits<size_t>::max();
  size_t max_connections_per_address = std::numeric_limits<size_t>::max();
  // Those that have not yet said what they want: handshakes and heads under way.
  size_t max_waiting = std::numeric_limits<size_t>::max();
  size_t max_waiting_per_address = std::numeric_limits<size_t>::max();
};

class ConnectionLimits {
 public:
  explicit ConnectionLimits(const ConnectionBounds& bounds) : bounds_(bounds) {}

  // `address`: as counted_address() has it. Null if one more may come from there; else which limit
  // holds, as one word for a counter.
  const char* why_not(const std::string& address, bool waits) const;
  size_t open() const { return open_; }
  size_t waiting() const { return waiting_; }
  size_t addresses() const { return by_address_.size(); }

 private:
  friend class ConnectionSlot;
  struct Count {
    size_t open = 0;
    size_t waiting = 0;
  };
  using ByAddress = std::unordered_map<std::string, Count>;

  const ConnectionBounds bounds_;
  ByAddress by_address_;
  size_t open_ = 0;
  size_t waiting_ = 0;
};

// One connection's place; given back when it is destroyed, with the end of its stream.
class ConnectionSlot {
 public:
  using Limits = std::shared_ptr<ConnectionLimits>;  // tidy: shared, streams outlive services

  ConnectionSlot() = default;
  ConnectionSlot(Limits limits, const std::string& address, bool waits);
  ConnectionSlot(ConnectionSlot&& other) noexcept;
  ConnectionSlot& operator=(ConnectionSlot&& other) noexcept;
  ~ConnectionSlot() { give_back(); }

  // It has said what it wants.
  void settle();

 private:
  void give_back();

  Limits limits_;
  // Where it is stays when others come; an iterator would not.
  ConnectionLimits::ByAddress::value_type* count_ = nullptr;
  bool waits_ = false;
};

}  // namespace holdfast::net
