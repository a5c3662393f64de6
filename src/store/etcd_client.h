// Requests to an etcd cluster: which member to ask, the authentication token, when to try again.
// Knows nothing of keys and values.
//
//   ask()   repeats an idempotent request on member after member until one answers
//   once()  sends a request that must not be repeated blindly, to the member in use
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/result.h"
#include "etcd/etcd.grpc.pb.h"
#include "rpc/bidi_stream.h"
#include "rpc/call.h"
#include "store/etcd_options.h"

namespace holdfast::store {

using EtcdKv = etcdserverpb::KV::StubInterface::async_interface;
using EtcdLease = etcdserverpb::Lease::StubInterface::async_interface;
using EtcdAuth = etcdserverpb::Auth::StubInterface::async_interface;
using EtcdWatchService = etcdserverpb::Watch::StubInterface::async_interface;
using EtcdWatchStream = rpc::BidiStream<etcdserverpb::WatchRequest, etcdserverpb::WatchResponse>;

template <typename Service, typename Request, typename Response>
using EtcdMethod = void (Service::*)(grpc::ClientContext*, const Request*, Response*,
                                     std::function<void(grpc::Status)>);

// Belongs to one executor. Destroy it only when none of its coroutines is running.
class EtcdClient {
 public:
  // Requires: at least one endpoint.
  EtcdClient(const asio::any_io_executor& executor, const EtcdOptions& options, const Clock& clock);

  Time deadline() const { return clock_.now() + options_.request_timeout; }
  const Clock& clock() const { return clock_; }

  // kUnavailable naming the endpoints if no member answered before the deadline.
  template <typename Service, typename Request, typename Response>
  asio::awaitable<Result<Response>> ask(EtcdMethod<Service, Request, Response> method,
                                        std::type_identity_t<Request> request, Time until) {
    Response response;
    const Attempt attempt = attempt_of(method, request, response);
    CO_TRY_OK(co_await repeat(attempt, until));
    co_return response;
  }

  // One try, repeated only if etcd refused the token and so did nothing. The error is the member's;
  // if it may recover (etcd_errors.h), the next request goes to the next member.
  template <typename Service, typename Request, typename Response>
  asio::awaitable<Result<Response>> once(EtcdMethod<Service, Request, Response> method,
                                         std::type_identity_t<Request> request, Time until) {
    Response response;
    const Attempt attempt = attempt_of(method, request, response);
    CO_TRY_OK(co_await try_one(attempt, until));
    co_return response;
  }

  // The shorter of the time left and of what one member may take.
  Duration time_for_a_try(Time until) const;

  // Whether the member in use has a live connection: what is sent to it leaves this machine.
  bool connected() const;
  // Opens a watch stream on the member in use, which ask() has reached before.
  void open(EtcdWatchStream& stream, Duration timeout);
  // The next request goes to the next member.
  void leave_member(size_t index);
  size_t member_in_use() const { return current_; }

 private:
  struct Member {
    std::string address;
    std::shared_ptr<grpc::Channel> channel;
    std::unique_ptr<etcdserverpb::KV::StubInterface> kv;
    std::unique_ptr<etcdserverpb::Lease::StubInterface> lease;
    std::unique_ptr<etcdserverpb::Auth::StubInterface> auth;
    std::unique_ptr<etcdserverpb::Watch::StubInterface> watch;
  };
  using Attempt = std::function<asio::awaitable<Status>(Member&, rpc::CallOptions)>;

  template <typename Service>
  static Service& service_of(Member& member) {
    if constexpr (std::is_same_v<Service, EtcdKv>) return *member.kv->async();
    if constexpr (std::is_same_v<Service, EtcdLease>) return *member.lease->async();
    if constexpr (std::is_same_v<Service, EtcdAuth>) return *member.auth->async();
  }

  // Refers to its arguments, which outlive it in the calling coroutine.
  template <typename Service, typename Request, typename Response>
  static Attempt attempt_of(EtcdMethod<Service, Request, Response> method, const Request& request,
                            Response& response) {
    return [method, &request, &response](Member& member,
                                         rpc::CallOptions call) -> asio::awaitable<Status> {
      CO_TRY(response,
             co_await rpc::call(service_of<Service>(member), method, request, std::move(call)));
      co_return absl::OkStatus();
    };
  }

  asio::awaitable<Status> repeat(const Attempt& attempt, Time until);
  asio::awaitable<Status> try_one(const Attempt& attempt, Time until);
  asio::awaitable<Status> attempt_with_token(Member& member, const Attempt& attempt, Time until);
  // A valid token in token_, or why there is none. One request for all who wait.
  asio::awaitable<Status> authenticate(Member& member, Time until);
  asio::awaitable<Status> request_token(Member& member, Time until);
  asio::awaitable<void> pause(Duration duration);
  rpc::CallOptions call_options(Duration timeout) const;
  Status nobody_answered(const Status& last) const;

  EtcdOptions options_;
  const Clock& clock_;
  asio::any_io_executor executor_;
  std::vector<Member> members_;
  size_t current_ = 0;
  uint64_t seed_;
  std::string token_;
  bool authenticating_ = false;
  asio::steady_timer authenticated_;  // never fires; cancelled to wake those who wait for a token
};

}  // namespace holdfast::store
