#include "node/link_service.h"

#include "base/check.h"
#include "holdfast/v1/identity.grpc.pb.h"
#include "holdfast/v1/node.grpc.pb.h"
#include "identity/certificate.h"
#include "rpc/channel.h"

namespace holdfast::node {
namespace {

using Presence = v1::Presence::StubInterface::async_interface;
using Identity = v1::Identity::StubInterface::async_interface;

rpc::ChannelOptions channel_options(const HeldIdentity& held) {
  rpc::TlsOptions tls{.ca_pem = held.ca_pem,
                      .certificate_pem = held.certificate_pem,
                      .private_key_pem = held.private_key_pem,
                      .server_name = std::string(identity::kControllerServerName)};
  // A node may be silent for minutes, with nothing but open streams: then only pings show that its
  // controller is frozen. Controllers allow one in 5 s; of 30,000 agents they get 3,000 a second,
  // which gRPC answers by itself.
  return {.tls = std::move(tls),
          .keepalive_interval = std::chrono::seconds(10),
          .keepalive_timeout = std::chrono::seconds(5)};
}

// The cluster issued the identity. Right after a rotation, one controller may know less than
// others.
rpc::PickHealthyServiceOptions as_member(rpc::PickHealthyServiceOptions options) {
  options.leave_who_refuses = true;
  // A passive half names the active one. Whatever address that has, it has to show a certificate of
  // this cluster's for the controllers' name, as any other: nothing is trusted that was not before,
  // and a node that was told of one half only is served by either.
  options.core.follow_strangers = true;
  return options;
}

rpc::PickedCall within(Duration timeout) {
  return {.timeout = timeout, .repeat = rpc::Repeat::Safe};
}

}  // namespace

LinkService::LinkService(const asio::any_io_executor& loop, const Clock& clock, LinkOptions options,
                         SharedIdentity held)
    : clock_(clock),
      identities_({{0, held}}),
      pick_(loop, clock, std::move(options.servers), channel_options(*held),
            as_member(options.pick)) {}

// What is older than what is in use has no connection any more.
void LinkService::add(SharedIdentity held) {
  const uint64_t next = identities_.rbegin()->first + 1;
  identities_.emplace(next, std::move(held));
  const rpc::Pinned picked = pick_.picked();
  if (picked) identities_.erase(identities_.begin(), identities_.lower_bound(picked->credentials));
}

void LinkService::use(SharedIdentity held) {
  add(held);
  const Status used = pick_.use_channel_options(channel_options(*held));
  HF_CHECK(used.ok() || absl::IsFailedPrecondition(used), "only a stopped link takes no identity");
}

void LinkService::replace(SharedIdentity held) {
  add(held);
  const Status used = pick_.replace_channel_options(channel_options(*held));
  HF_CHECK(used.ok() || absl::IsFailedPrecondition(used), "only a stopped link takes no identity");
}

SharedIdentity LinkService::in_use() const {
  const rpc::Pinned picked = pick_.picked();
  const auto found = picked ? identities_.find(picked->credentials) : identities_.end();
  return found == identities_.end() ? newest() : found->second;
}

std::string LinkService::server() const {
  const rpc::Pinned picked = pick_.picked();
  return picked ? picked->address : std::string();
}

// Stored under the node's name, whatever was there: the second time changes nothing. It speaks of
// the identity in use when it was made; should another have taken over before it arrives, it says
// too little of what the node trusts, never too much, and the next one says the rest.
asio::awaitable<Result<LinkService::Announced>> LinkService::announce(MakeAnnouncement make,
                                                                      Duration timeout) {
  const Time until = clock_.now() + timeout;
  CO_TRY_OK((co_await pick_.wait_picked(timeout)).status());
  const SharedIdentity held = in_use();
  CO_TRY(v1::AnnounceResponse response,
         co_await pick_.call<v1::Presence>(&Presence::Announce, make(*held),
                                           within(until - clock_.now())));
  co_return Announced{.response = std::move(response), .held = held};
}

// A certificate whose answer was lost is used by nobody: nobody else has its key, and we take the
// one that arrives.
asio::awaitable<Result<v1::Credentials>> LinkService::renew(v1::RenewRequest request,
                                                            Duration timeout) {
  co_return co_await pick_.call<v1::Identity>(&Identity::Renew, std::move(request),
                                              within(timeout));
}

// Deletes the entry, if it is there.
asio::awaitable<Status> LinkService::goodbye(v1::GoodbyeRequest request, Duration timeout) {
  co_return (
      co_await pick_.call<v1::Presence>(&Presence::Goodbye, std::move(request), within(timeout)))
      .status();
}

}  // namespace holdfast::node
