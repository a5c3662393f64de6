// A command's link to the controllers: plain blocking calls with a deadline over PickHealthy, so
// that a call which may be repeated moves to another controller when its own fails it.
//
// The loop runs only while a call does; between calls nothing needs to.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/result.h"
#include "cli/errors.h"
#include "holdfast/v1/api.grpc.pb.h"
#include "holdfast/v1/identity.grpc.pb.h"
#include "holdfast/v1/load.grpc.pb.h"
#include "holdfast/v1/node.grpc.pb.h"
#include "holdfast/v1/pair.grpc.pb.h"
#include "rpc/channel.h"
#include "rpc/pick_healthy_service.h"
#include "rpc/server_stream.h"

namespace holdfast::cli {

namespace asio = boost::asio;

struct ClientOptions {
  std::string server{};                         // "unix:/path" or "host:port"; several with commas
  std::optional<rpc::TlsOptions> tls{};         // none: plain, for unix sockets only
  Duration timeout = std::chrono::seconds(10);  // of one call; above the controller's own
  Duration wait{0};  // how long a controller that is not there yet is waited for
  // A half of a pair that does not serve names the one that does, which is asked instead if it has
  // a certificate of the cluster, named in `server` or not.
  bool follow = true;
};

using IdentityCalls = v1::Identity::StubInterface::async_interface;
using PairCalls = v1::PairControl::StubInterface::async_interface;

class Client {
 public:
  explicit Client(ClientOptions options);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Waits for a controller if the options say so; kUnavailable if none came.
  Status connect();

  Result<v1::Resource> get(const v1::GetRequest& request);
  Result<v1::ListResponse> list(const v1::ListRequest& request);
  // These carry a request id, made here unless they have one, so that they are applied once however
  // often they are sent.
  Result<v1::Resource> create(v1::WriteRequest request);
  Result<v1::Resource> update(v1::WriteRequest request);
  Result<v1::DeleteResponse> remove(v1::DeleteRequest request);
  Result<v1::GetStatusResponse> status();
  Result<v1::GetLoadResponse> load(const v1::GetLoadRequest& request);

  // Any call of Identity: client.identity(&IdentityCalls::Join, request). Carried out once, unless
  // it only reads; a half that does not serve does nothing, and the active one is asked instead.
  template <typename Request, typename Response>
  Result<Response> identity(void (IdentityCalls::*method)(grpc::ClientContext*, const Request*,
                                                          Response*,
                                                          std::function<void(grpc::Status)>),
                            const std::type_identity_t<Request>& request) {
    constexpr bool only_reads = std::is_same_v<Request, v1::GetAuthorityRequest> ||
                                std::is_same_v<Request, v1::WhoAmIRequest>;
    return call<v1::Identity>(method, request,
                              only_reads ? rpc::Repeat::Safe : rpc::Repeat::IfNotActive);
  }

  // Any call of PairControl. Sent once, unless it only reads.
  template <typename Request, typename Response>
  Result<Response> pair(void (PairCalls::*method)(grpc::ClientContext*, const Request*, Response*,
                                                  std::function<void(grpc::Status)>),
                        const std::type_identity_t<Request>& request) {
    constexpr bool writes = std::is_same_v<Request, v1::SwitchOverRequest> ||
                            std::is_same_v<Request, v1::PromoteRequest> ||
                            std::is_same_v<Request, v1::ResolveDivergenceRequest>;
    return call<v1::PairControl>(method, request, writes ? rpc::Repeat::Never : rpc::Repeat::Safe);
  }

  // Calls `on_event` until it returns false or the stream ends; OK in the first case. A half that
  // does not serve is left for the one that does; once begun, it stays with its connection, and
  // ends with kUnavailable when another is picked instead. kDeadlineExceeded if the first event
  // takes longer than one call may. `on_event` may make calls.
  Status watch(const v1::WatchRequest& request,
               const std::function<bool(const v1::Event&)>& on_event);
  // Waits, while the link goes on to look for a controller.
  void pause(Duration time);
  // How long a watch that was cut off is tried again.
  Duration patience() const;

  // For explain(): whom we asked, and whether it is there.
  Asked asked() const;
  const std::string& server() const { return options_.server; }
  // For a client of its own that asks this address, with the same certificate, and no other.
  ClientOptions options_for(std::string address) const;

 private:
  struct Reached {
    rpc::Pinned connection;  // never null; by the time it is looked at another may be picked
    Duration left;           // of a call's time
  };

  // Runs the loop until the task is done. Not from within the loop.
  template <typename T>
  T run(asio::awaitable<T> task) {
    std::optional<T> result;
    asio::co_spawn(loop_, std::move(task), [&](const std::exception_ptr& thrown, T value) {
      HF_CHECK(thrown == nullptr, "a task returns its failures");
      result = std::move(value);
    });
    run_until([&] { return result.has_value(); });
    return *std::move(result);
  }
  void run_until(const std::function<bool()>& done);

  template <typename Service, typename Request, typename Response>
  Result<Response> call(void (Service::StubInterface::async_interface::*method)(
                            grpc::ClientContext*, const Request*, Response*,
                            std::function<void(grpc::Status)>),
                        const std::type_identity_t<Request>& request, rpc::Repeat repeat) {
    TRY(const Reached reached, run(reach()));
    return run(link_.call<Service>(method, request, {.timeout = reached.left, .repeat = repeat}));
  }

  // Waits until a connection is picked. kUnavailable as soon as nobody listens at any address,
  // kDeadlineExceeded if somebody may but does not answer.
  asio::awaitable<Result<Reached>> reach();
  asio::awaitable<bool> nobody_listens() const;
  using WatchStream = rpc::ServerStream<v1::WatchResponse>;
  // Until it ends; `begun` once something came.
  Status watch_at(const Reached& reached, const v1::WatchRequest& request,
                  const std::function<bool(const v1::Event&)>& on_event, bool& begun);
  // Nothing: the stream has ended, or another connection was picked.
  asio::awaitable<std::optional<v1::WatchResponse>> read_there(uint64_t connection,
                                                               WatchStream& stream);
  asio::awaitable<bool> leave(uint64_t connection);

  ClientOptions options_;
  SystemClock clock_;
  asio::io_context loop_{1};
  size_t addresses_;
  rpc::PickHealthyService link_;
};

}  // namespace holdfast::cli
