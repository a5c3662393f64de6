// What a verb works with: who is asked, and how its user is talked to.
#pragma once

#include <expected>
#include <string>

#include "base/clock.h"
#include "cli/address.h"
#include "cli/client.h"
#include "cli/console.h"
#include "cli/errors.h"

namespace holdfast::cli {

struct Session {
  const Console& console;
  Client& client;

  // Reports what a call came to.
  Exit failed(const Status& status) const {
    return console.report(explain(status, client.asked()));
  }
};

// How the controller is to be found; what was not said is empty.
struct Connection {
  std::string server{};
  std::string profile_dir{};
  std::string default_server{};  // the socket on this machine
  Duration timeout = std::chrono::seconds(10);
  Duration wait{0};
  bool follow = true;  // to the half that serves, if the one that is asked does not
};

// Whom to call, with the profile's certificate if it is not a socket on this machine. Without a
// server: the profile's, else the socket's.
std::expected<ClientOptions, Failure> find_controller(const Connection& connection);

}  // namespace holdfast::cli
