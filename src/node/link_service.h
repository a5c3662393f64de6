// The way to the controllers: rpc::PickHealthyService with the node's identity, and the calls a
// node makes about itself. Each names its node, and carried out twice it does what it does once; so
// each is repeated elsewhere when its own connection fails.
//
// A new identity is used by a new connection beside the old one, which stays in use until a
// controller has accepted the new one: a certificate that it does not take yet cuts nobody off.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "holdfast/v1/identity.pb.h"
#include "holdfast/v1/node.pb.h"
#include "node/held_identity.h"
#include "rpc/pick_healthy_service.h"

namespace holdfast::node {

namespace asio = boost::asio;

using SharedIdentity = std::shared_ptr<const HeldIdentity>;

struct LinkOptions {
  std::vector<std::string> servers{};  // HOST:PORT; at least one
  rpc::PickHealthyServiceOptions pick{};
};

// Belongs to one executor.
class LinkService {
 public:
  LinkService(const asio::any_io_executor& loop, const Clock& clock, LinkOptions options,
              SharedIdentity held);

  void start() { pick_.start(); }
  asio::awaitable<void> stop() { return pick_.stop(); }

  // As soon as a controller accepts it.
  void use(SharedIdentity held);
  // At once, whatever it leads to: the old one is worth nothing any more.
  void replace(SharedIdentity held);
  // It has run out: nobody is dialled until there is another.
  void pause() { pick_.pause("the certificate has run out"); }
  const SharedIdentity& newest() const { return identities_.rbegin()->second; }
  // Of the connection in use; the newest while there is none.
  SharedIdentity in_use() const;
  // The controller in use; empty while there is none.
  std::string server() const;
  // For other calls and streams.
  rpc::PickHealthyService& pick() { return pick_; }
  const rpc::PickHealthyService& pick() const { return pick_; }

  using MakeAnnouncement = std::function<v1::AnnounceRequest(const HeldIdentity&)>;
  struct Announced {
    v1::AnnounceResponse response;
    SharedIdentity held;  // that it was made for
  };
  asio::awaitable<Result<Announced>> announce(MakeAnnouncement make, Duration timeout);
  asio::awaitable<Result<v1::Credentials>> renew(v1::RenewRequest request, Duration timeout);
  asio::awaitable<Status> goodbye(v1::GoodbyeRequest request, Duration timeout);

 private:
  void add(SharedIdentity held);

  const Clock& clock_;
  // By the number that a connection made with it has as its credentials; those that may be in use.
  std::map<uint64_t, SharedIdentity> identities_;
  rpc::PickHealthyService pick_;
};

}  // namespace holdfast::node
