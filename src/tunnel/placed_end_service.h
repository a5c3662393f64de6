// A client's end of a stream and the place it takes: given back with it. Ends that a link took and
// that were not closed from both sides count as cut.
#pragma once

#include <memory>
#include <utility>

#include "tunnel/link_service.h"
#include "tunnel/places_service.h"

namespace holdfast::tunnel {

class PlacedEnd final : public StreamEnd {
 public:
  explicit PlacedEnd(std::unique_ptr<StreamEnd> end) : end_(std::move(end)) {}
  ~PlacedEnd() override {
    end_.reset();
    const bool in_peace = was_pulled_ && was_pushed_;
    if (is_attached_) place_.give_back(in_peace ? route::Ended::Closed : route::Ended::Cut);
  }

  HeldPlace& place() { return place_; }
  // Requires: it was not attached.
  std::unique_ptr<StreamEnd> release() { return std::move(end_); }

  void attached(Link& link, StreamId stream) override {
    is_attached_ = true;
    end_->attached(link, stream);
  }
  Pulled pull(std::span<char> into) override {
    const Pulled pulled = end_->pull(into);
    was_pulled_ |= pulled.ended;
    return pulled;
  }
  ssize_t push(std::string_view bytes) override { return end_->push(bytes); }
  ssize_t push_parts(std::span<const std::string_view> parts) override {
    return end_->push_parts(parts);
  }
  void push_end() override {
    was_pushed_ = true;
    end_->push_end();
  }
  void reset(ResetCode code, std::string_view why) override {
    was_pushed_ = false;
    end_->reset(code, why);
  }

 private:
  std::unique_ptr<StreamEnd> end_;
  HeldPlace place_;
  bool is_attached_ = false;
  bool was_pulled_ = false;  // to its end
  bool was_pushed_ = false;
};

}  // namespace holdfast::tunnel
