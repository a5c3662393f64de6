// The way to the controllers: one channel over mTLS at a time, to one server of a list, and the
// calls a node makes on it. Whoever does not answer is left for the next of the list.
//
// A new identity is used by a new channel. The old one stays until the new one has carried an
// announcement, so that a certificate that a controller does not take yet cuts nobody off.
#pragma once

#include <grpcpp/channel.h>

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "holdfast/v1/identity.grpc.pb.h"
#include "holdfast/v1/node.grpc.pb.h"
#include "node/held_identity.h"

namespace holdfast::node {

namespace asio = boost::asio;

using SharedIdentity = std::shared_ptr<const HeldIdentity>;

// Belongs to one executor.
class LinkService {
 public:
  // Requires: at least one server, as HOST:PORT.
  LinkService(std::vector<std::string> servers, SharedIdentity held, const Clock& clock);

  // From the next announcement on.
  void use(SharedIdentity held);
  // At once, whatever it leads to: the old one is worth nothing any more.
  void replace(SharedIdentity held);
  const SharedIdentity& newest() const { return newest_; }
  // The server and the identity of the channel in use.
  const std::string& server() const { return current_->server; }
  const SharedIdentity& in_use() const { return current_->held; }

  using MakeAnnouncement = std::function<v1::AnnounceRequest(const HeldIdentity&)>;
  struct Announced {
    v1::AnnounceResponse response;
    SharedIdentity held;  // that carried it
  };
  asio::awaitable<Result<Announced>> announce(MakeAnnouncement make, Duration timeout);
  asio::awaitable<Result<v1::Credentials>> renew(v1::RenewRequest request, Duration timeout);
  asio::awaitable<Status> goodbye(v1::GoodbyeRequest request, Duration timeout);

 private:
  struct Connection {
    std::string server;
    SharedIdentity held;
    std::unique_ptr<v1::Presence::Stub> presence;
    std::unique_ptr<v1::Identity::Stub> identity;
  };
  // Calls that began on a connection keep it while another takes its place.
  using SharedConnection = std::shared_ptr<const Connection>;

  SharedConnection open(SharedIdentity held) const;
  void leave_server(const SharedConnection& failed);
  static asio::awaitable<Result<Announced>> announce_on(SharedConnection connection,
                                                        const MakeAnnouncement& make,
                                                        Duration timeout);

  std::vector<std::string> servers_;
  const Clock& clock_;
  size_t index_ = 0;
  SharedIdentity newest_;
  SharedConnection current_;
  SharedConnection next_;  // with the newest identity; null if the current one has it
};

}  // namespace holdfast::node
