// The controllers as where a cache gets its resources: reads are repeated elsewhere when their
// connection fails, a watch stays on the connection that was picked when it began.
#pragma once

#include <memory>

#include "base/clock.h"
#include "cache/upstream.h"
#include "rpc/pick_healthy_service.h"

namespace holdfast::node {

struct UpstreamOptions {
  // Also while no controller is connected: who has something older to answer with waits for less.
  Duration read_timeout = std::chrono::seconds(3);
  // How long a watch waits for a controller: it begins as soon as there is one, rather than at the
  // next try.
  Duration watch_patience = std::chrono::seconds(60);
};

// Belongs to the executor of the link, which outlives it and its streams.
class UpstreamService final : public cache::Upstream {
 public:
  explicit UpstreamService(rpc::PickHealthyService& link, UpstreamOptions options = {})
      : link_(link), options_(options) {}

  // A stream ends with kAborted when another connection is picked: it can be had there at once, and
  // the old one may be about to go.
  cache::asio::awaitable<Result<std::unique_ptr<cache::EventStream>>> watch(
      v1::WatchRequest request) override;
  cache::asio::awaitable<Result<v1::ListResponse>> list(v1::ListRequest request) override;
  cache::asio::awaitable<Result<v1::Resource>> get(v1::GetRequest request) override;

 private:
  rpc::PickHealthyService& link_;
  UpstreamOptions options_;
};

}  // namespace holdfast::node
