#include "net/connection_limits.h"

#include <utility>

namespace holdfast::net {

const char* ConnectionLimits::why_not(const std::string& address, bool waits) const {
  if (open_ >= bounds_.max_connections) return "connections";
  if (waits && waiting_ >= bounds_.max_waiting) return "waiting";
  const auto found = by_address_.find(address);
  if (found == by_address_.end()) return nullptr;
  const Count& count = found->second;
  if (count.open >= bounds_.max_connections_per_address) return "address";
  if (waits && count.waiting >= bounds_.max_waiting_per_address) return "address_waiting";
  return nullptr;
}

ConnectionSlot::ConnectionSlot(Limits limits, const std::string& address, bool waits)
    : limits_(std::move(limits)),
      count_(&*limits_->by_address_.try_emplace(address).first),
      waits_(waits) {
  limits_->open_ += 1;
  count_->second.open += 1;
  if (!waits_) return;
  limits_->waiting_ += 1;
  count_->second.waiting += 1;
}

ConnectionSlot::ConnectionSlot(ConnectionSlot&& other) noexcept
    : limits_(std::move(other.limits_)), count_(other.count_), waits_(other.waits_) {}

ConnectionSlot& ConnectionSlot::operator=(ConnectionSlot&& other) noexcept {
  if (this == &other) return *this;
  give_back();
  limits_ = std::move(other.limits_);
  count_ = other.count_;
  waits_ = other.waits_;
  return *this;
}

void ConnectionSlot::settle() {
  if (limits_ == nullptr || !waits_) return;
  waits_ = false;
  limits_->waiting_ -= 1;
  count_->second.waiting -= 1;
}

void ConnectionSlot::give_back() {
  if (limits_ == nullptr) return;
  settle();
  limits_->open_ -= 1;
  count_->second.open -= 1;
  if (count_->second.open == 0)
    limits_->by_address_.erase(limits_->by_address_.find(count_->first));
  limits_ = nullptr;
}

}  // namespace holdfast::net
