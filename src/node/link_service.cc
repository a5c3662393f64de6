#include "node/link_service.h"

#include "base/check.h"
#include "identity/certificate.h"
#include "rpc/call.h"
#include "rpc/channel.h"

namespace holdfast::node {
namespace {

using Presence = v1::Presence::StubInterface::async_interface;
using Identity = v1::Identity::StubInterface::async_interface;

constexpr size_t kMaxAnswerBytes = size_t{1} << 20;

// Whether another controller, or another connection, may do better.
bool may_be_the_server(const Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
         absl::IsUnauthenticated(status);
}

rpc::ChannelOptions channel_options(const HeldIdentity& held) {
  rpc::TlsOptions tls{.ca_pem = held.ca_pem,
                      .certificate_pem = held.certificate_pem,
                      .private_key_pem = held.private_key_pem,
                      .server_name = std::string(identity::kControllerServerName)};
  // Announcements have a deadline and show soon who is gone; pings are for what lies in between.
  return {.tls = std::move(tls),
          .keepalive_interval = std::chrono::minutes(6),
          .keepalive_timeout = std::chrono::seconds(20),
          .max_message_bytes = kMaxAnswerBytes};
}

}  // namespace

LinkService::LinkService(std::vector<std::string> servers, SharedIdentity held, const Clock& clock)
    : servers_(std::move(servers)), clock_(clock), newest_(std::move(held)) {
  HF_CHECK(!servers_.empty(), "a node knows a controller");
  current_ = open(newest_);
}

LinkService::SharedConnection LinkService::open(SharedIdentity held) const {
  const std::string& server = servers_[index_ % servers_.size()];
  const std::shared_ptr<grpc::Channel> channel = rpc::make_channel(server, channel_options(*held));
  return std::make_shared<const Connection>(Connection{.server = server,
                                                       .held = std::move(held),
                                                       .presence = v1::Presence::NewStub(channel),
                                                       .identity = v1::Identity::NewStub(channel)});
}

void LinkService::use(SharedIdentity held) {
  newest_ = std::move(held);
  next_ = open(newest_);
}

void LinkService::replace(SharedIdentity held) {
  newest_ = std::move(held);
  current_ = open(newest_);
  next_.reset();
}

// A new connection even if there is one server only: gRPC's own would wait before it tries again.
void LinkService::leave_server(const SharedConnection& failed) {
  if (failed != current_) return;  // someone else has left it
  index_ += 1;
  const SharedIdentity held = current_->held;
  current_ = open(held);
  next_ = held == newest_ ? nullptr : open(newest_);
}

asio::awaitable<Result<LinkService::Announced>> LinkService::announce_on(
    SharedConnection connection, const MakeAnnouncement& make, Duration timeout) {
  CO_TRY(v1::AnnounceResponse response,
         co_await rpc::call(*connection->presence->async(), &Presence::Announce,
                            make(*connection->held), {.timeout = timeout}));
  co_return Announced{.response = std::move(response), .held = connection->held};
}

asio::awaitable<Result<LinkService::Announced>> LinkService::announce(MakeAnnouncement make,
                                                                      Duration timeout) {
  const Time until = clock_.now() + timeout;
  if (const SharedConnection next = next_) {
    Result<Announced> announced = co_await announce_on(next, make, timeout / 2);
    if (announced.ok() && next == next_) current_ = std::move(next_);
    if (announced.ok() || absl::IsCancelled(announced.status())) co_return announced;
  }
  const SharedConnection connection = current_;
  Result<Announced> announced = co_await announce_on(connection, make, until - clock_.now());
  if (may_be_the_server(announced.status())) leave_server(connection);
  co_return announced;
}

asio::awaitable<Result<v1::Credentials>> LinkService::renew(v1::RenewRequest request,
                                                            Duration timeout) {
  const SharedConnection connection = current_;
  co_return co_await rpc::call(*connection->identity->async(), &Identity::Renew, std::move(request),
                               {.timeout = timeout});
}

asio::awaitable<Status> LinkService::goodbye(v1::GoodbyeRequest request, Duration timeout) {
  const SharedConnection connection = current_;
  co_return (co_await rpc::call(*connection->presence->async(), &Presence::Goodbye,
                                std::move(request), {.timeout = timeout}))
      .status();
}

}  // namespace holdfast::node
